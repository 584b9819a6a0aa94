"""Whether Weights & Biases would find a key here, before anything is sent."""

from __future__ import annotations

import netrc
import os
from pathlib import Path

_ADDRESS = "https://api.wandb.ai"
"""Of the server, for a wandb package that does not tell its own."""


def has_wandb_key() -> bool:
    """Whether the user has logged in to Weights & Biases, in any of the ways that its package knows.

    The package is loaded, and asks no server.
    """
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    address, stored = _configured()
    return stored or _in_netrc(address)


def _configured() -> tuple[str, bool]:
    """Return the address of the server that would be logged to, and whether the settings files hold a key for it."""
    address = os.environ.get("WANDB_BASE_URL")
    try:
        import wandb

        # Of its own: the settings of the process are made once, when a run begins.
        settings = wandb.Settings(silent=True)
        folder = Path(os.environ.get("WANDB_CONFIG_DIR") or "~/.config/wandb").expanduser()
        settings.settings_system = str(folder / "settings")
        # `wandb login --host` keeps the server there.
        settings.update_from_system_settings()
        return address or settings.base_url, bool(settings.api_key)
    # Another release may have other settings; what a key is looked up for is then what the environment says.
    except Exception:
        return address or _ADDRESS, False


def _in_netrc(address: str) -> bool:
    """Whether the user's netrc file has a key for a server."""
    try:
        # One server may have several names there, which the package knows.
        from wandb.sdk.lib.wbauth import read_netrc_auth
    except ImportError:
        return _in_own_reading_of_netrc(address)
    try:
        return read_netrc_auth(host=address) is not None
    # A key of another form, which it would not log in with; a server that is none.
    except Exception:
        return False


def _in_own_reading_of_netrc(address: str) -> bool:
    host = address.rpartition("//")[2].split("/")[0]
    for name in (os.environ.get("NETRC"), "~/.netrc", "~/_netrc"):
        path = Path(name).expanduser() if name else None
        if path is not None and path.is_file():
            try:
                return netrc.netrc(path).authenticators(host) is not None
            except (netrc.NetrcParseError, OSError):
                return False
    return False
