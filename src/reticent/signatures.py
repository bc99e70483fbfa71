"""Ed25519 signatures of certificates: who vouches for the parameters.

A private key is a PEM file that its owner alone can read; beside it lies the public one (``.pub``), for those who
verify. A key is named by the first 16 hexadecimal digits of the SHA-256 of its public bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, VerificationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "Ed25519"
_DOMAIN = b"reticent certificate, signed\n"
_FIELDS = {"algorithm", "key", "value"}


def new_key(path: str | Path) -> str:
    """Make a key at `path`, and its public part at ``path.pub``; returns its name.

    Raises
    ------
    ArgumentError
        If one of the files exists, or cannot be written.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private, public = Path(path), public_path(path)
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for each in (private, public):
        if each.exists():
            raise ArgumentError(f"key: {each.name} exists; a key is never overwritten, name another file")
    for each, data, mode in ((private, secret, 0o600), (public, shown, 0o644)):
        try:
            descriptor = os.open(each, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except OSError as error:
            raise ArgumentError(f"key: {each.name} cannot be written ({error.strerror})") from None
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    return name_of(key.public_key())


def public_path(path: str | Path) -> Path:
    """Where the public part of a key lies."""
    path = Path(path)
    return path.with_name(f"{path.name}.pub")


def name_of(key: Ed25519PublicKey) -> str:
    """What a key is called."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def sign(digest: str, path: str | Path) -> dict[str, str]:
    """The signature of a certificate's digest by the private key at `path`.

    Raises
    ------
    ArgumentError
        A file that is no private Ed25519 key.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key: Ed25519PrivateKey
    try:
        loaded = serialization.load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as error:
        raise ArgumentError(f"sign: {Path(path).name} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError):
        loaded = None
    if not isinstance(loaded, Ed25519PrivateKey):
        raise ArgumentError(f"sign: {Path(path).name} is no private key of this kind; make one with reticent key new")
    key = loaded
    value = base64.b64encode(key.sign(_DOMAIN + digest.encode())).decode()
    return {"algorithm": ALGORITHM, "key": name_of(key.public_key()), "value": value}


def signer(signature: Mapping[str, Any], digest: str, path: str | Path) -> str:
    """The name of the key at `path`, if the signature is its.

    Parameters
    ----------
    signature : mapping
        As `sign` made it.
    digest : str
        What must have been signed.
    path : path
        A public key, or a private one.

    Raises
    ------
    VerificationError
        A signature by another key, or of something else.
    """
    from cryptography.exceptions import InvalidSignature

    key = _public(path)
    check_form(signature)
    if signature["key"] != name_of(key):
        raise VerificationError(
            f"signature: it is by the key {signature['key']}, not by {name_of(key)}, which {Path(path).name} holds"
        )
    try:
        key.verify(base64.b64decode(signature["value"], validate=True), _DOMAIN + digest.encode())
    except (InvalidSignature, ValueError):
        raise VerificationError("signature: it is not of this certificate, or was altered") from None
    return name_of(key)


def check_form(signature: Any) -> None:
    """Refuse what cannot be a signature.

    Raises
    ------
    VerificationError
        Other fields, or another algorithm.
    """
    if (
        not isinstance(signature, Mapping)
        or set(signature) != _FIELDS
        or not all(isinstance(value, str) for value in signature.values())
        or signature["algorithm"] != ALGORITHM
    ):
        raise VerificationError("signature: it is of a form that this version does not know")


def _public(path: str | Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise VerificationError(f"key: {Path(path).name} cannot be read ({error.strerror})") from None
    for load in (serialization.load_pem_public_key, lambda data: serialization.load_pem_private_key(data, None)):
        try:
            key = load(data)
        except (ValueError, TypeError):
            continue
        if isinstance(key, Ed25519PrivateKey):
            return key.public_key()
        if isinstance(key, Ed25519PublicKey):
            return key
    raise VerificationError(f"key: {Path(path).name} is no key of this kind; give the .pub file of reticent key new")
