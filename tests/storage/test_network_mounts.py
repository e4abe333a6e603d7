from __future__ import annotations

import pytest
from click.testing import CliRunner

from dh_bridge.cli import commands
from dh_bridge.storage import network_mounts
from dh_bridge.storage.network_mounts import network_type, network_warning

MOUNTS = r"""/dev/vda / ext4 rw,relatime 0 0
tmpfs /run tmpfs rw 0 0
nas:/shop /data/shop nfs4 rw,vers=4.2 0 0
/dev/vdb /data/shop/local xfs rw 0 0
//nas/b /data/two\040words cifs rw 0 0
me@host: /home/me/remote fuse.sshfs rw 0 0
/dev/fuse /mnt/disk fuse.ntfs-3g rw 0 0
/dev/vdc /twice ext4 rw 0 0
nas:/twice /twice nfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/shop/ledger.db", "nfs4"),
        ("/data/shop/folder/ledger.db", "nfs4"),
        ("/data/shop/local/ledger.db", None),
        ("/data/shopping/ledger.db", None),
        ("/data/two words/ledger.db", "cifs"),
        ("/home/me/remote/ledger.db", "fuse.sshfs"),
        ("/mnt/disk/ledger.db", None),
        ("/twice/ledger.db", "nfs"),
        ("/ledger.db", None),
    ],
)
def test_type_of_a_network_file_system_is_known(path, expected):
    assert network_type(path, MOUNTS) == expected


def test_relative_path_and_link_are_followed(tmp_path, monkeypatch):
    mounts = f"/dev/vda / ext4 rw 0 0\nnas:/x {tmp_path}/nas nfs rw 0 0\n"
    (tmp_path / "nas").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nas")
    monkeypatch.chdir(tmp_path / "nas")
    assert network_type("ledger.db", mounts) == "nfs"
    assert network_type(tmp_path / "link" / "ledger.db", mounts) == "nfs"


def test_system_without_a_list_of_mounts_has_no_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(network_mounts, "_MOUNTS", tmp_path / "missing")
    assert network_type(tmp_path / "ledger.db") is None


def test_emit_warns_about_a_network_file_system(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mounts").write_text(f"nas:/x {tmp_path} nfs4 rw 0 0\n")
    (tmp_path / "e.ndjson").write_text("")
    monkeypatch.setattr(network_mounts, "_MOUNTS", tmp_path / "mounts")
    for target in (["catalog:c.db"], ["file:p.ndjson", "--ledger", "c.db"]):
        caplog.clear()
        CliRunner().invoke(commands, ["emit", "e.ndjson", "--to", *target])
        (message,) = caplog.messages
        assert message.startswith("c.db: the file system is nfs4, a network file system"), target
        assert message.endswith("(move it to a local disk, and use one host for each ledger)")
    assert network_warning(tmp_path / "c.db") is not None
