"""The HTML report of a release."""


def public_report(certificate):
    return ""


def private_report(certificate, pairs, plan):
    return ""
