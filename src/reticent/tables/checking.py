def check_released(path, certificate):
    return []
