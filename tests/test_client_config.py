"""Configurations of MCP clients: their servers are wrapped by the command, and given back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from for_each import for_each
from memory_context.cli import run
from memory_context.cli.open_store_and_user import login
from memory_context.mcp.client_config import ServerList, lists_of, servers_in

GITHUB = {
    "command": "npx",
    "args": ["-y", "server-github"],
    "env": {"TOKEN": "${TOKEN}"},
    "autoApprove": ["x"],
}
REMOTE = {
    "type": "http",
    "url": "https://mcp.example/mcp",
    "headers": {"Authorization": "Bearer ${env:TOKEN}"},
}
CONFIG = {
    "theme": "dark",
    "mcpServers": {"github": GITHUB, "remote": REMOTE, "off": {**GITHUB, "disabled": True}},
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cursor's configuration of a project that is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    write(path, CONFIG)
    path.chmod(0o600)
    return path


def write(path: Path, config: object) -> None:
    """Write a configuration as an editor does."""
    path.write_text(json.dumps(config, indent=4) + "\n", "utf-8")


def read(path: Path) -> Any:
    """A configuration."""
    return json.loads(path.read_text("utf-8"))


def test_wrap_and_undo(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One entry takes the place of the servers, which stand beside it as they were, for nobody else to read; and back."""
    before = file.read_text("utf-8")
    options = "--store sqlite:////srv/m.db --user ann --prefix --timeout 20"
    assert 0 == run(["wrap", "--client", "cursor", *options.split()])
    config, moved = read(file), file.with_name("mcp.wrapped.json")
    said = capsys.readouterr().out

    assert "github, remote wrapped" in said
    assert "left unchanged: off: it is disabled" in said
    assert "dark" == config["theme"]
    assert ["with-memory-project", "off"] == [*config["mcpServers"]]
    entry = config["mcpServers"]["with-memory-project"]
    assert os.access(entry["command"], os.X_OK)
    given = entry["args"][entry["args"].index("wrap") :]
    assert ["wrap", "--store", "sqlite:////srv/m.db", "--user", "ann", "--prefix"] == given[:6]
    assert ["--timeout", "20"] == given[8:10]
    assert ["--servers", str(moved)] == entry["args"][-2:]
    assert {"github": GITHUB, "remote": REMOTE} == read(moved)["mcpServers"]
    assert 0o600 == moved.stat().st_mode & 0o777 == file.stat().st_mode & 0o777
    assert ["github", "remote"] == [server.name for server in servers_in(moved)]

    assert 0 == run(["wrap", "--client", "cursor", "--undo"])
    assert before == file.read_text("utf-8")
    assert not moved.exists()


def test_wrapping_twice(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second run finds no other server, says so, and changes nothing."""
    assert 0 == run(["wrap", "--client", "cursor"])
    before = file.read_text("utf-8")

    assert 2 == run(["wrap", "--client", "cursor"])
    assert "has no other server to wrap" in capsys.readouterr().err
    assert before == file.read_text("utf-8")


@for_each("server", ["--url http://127.0.0.1:1/mcp", "--servers other.json", "-- some-server"])
def test_a_client_and_a_server(file: Path, capsys: pytest.CaptureFixture[str], server: str) -> None:
    """A configuration is not changed by a command that names a server to start as well."""
    before = file.read_text("utf-8")

    assert 2 == run(["wrap", "--client", "cursor", *server.split()])
    assert "leave out" in capsys.readouterr().err
    assert before == file.read_text("utf-8")


def test_what_was_changed_meanwhile(file: Path) -> None:
    """A server that the user has added since stays, or is wrapped by a second run; all come back."""
    run(["wrap", "--client", "cursor", "--only", "github"])
    config = read(file)
    assert {"with-memory-project", "remote", "off"} == {*config["mcpServers"]}
    config["mcpServers"]["new"] = {"command": "new"}
    config["mcpServers"]["with-memory-project"]["env"] = {"MEMORY_CONTEXT_STORE_PASSWORD": "x"}
    write(file, config)
    run(["wrap", "--client", "cursor", "--only", "new"])
    assert read(file)["mcpServers"]["with-memory-project"]["env"]
    assert {"with-memory-project", "remote", "off"} == {*read(file)["mcpServers"]}
    run(["wrap", "--client", "cursor", "--undo"])

    assert {**CONFIG["mcpServers"], "new": {"command": "new"}} == read(file)["mcpServers"]  # type: ignore[dict-item]


def test_a_server_of_a_wrapped_ones_name(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two servers of one name none is overwritten: nothing moves before the user has renamed one."""
    assert 0 == run(["wrap", "--client", "cursor"])
    config, moved = read(file), file.with_name("mcp.wrapped.json")
    config["mcpServers"]["github"] = {"command": "another"}
    write(file, config)
    for undo in (["--undo"], []):
        assert 2 == run(["wrap", "--client", "cursor", *undo])
        assert f"another server 'github' than {moved}" in capsys.readouterr().err
        assert config == read(file)
        assert GITHUB == read(moved)["mcpServers"]["github"]
    config["mcpServers"]["hub"] = config["mcpServers"].pop("github")
    write(file, config)
    assert 0 == run(["wrap", "--client", "cursor", "--undo"])
    assert {**CONFIG["mcpServers"], "hub": {"command": "another"}} == read(file)["mcpServers"]  # type: ignore[dict-item]


def test_a_crash_between_the_two_files(file: Path) -> None:
    """Until the configuration is written, its servers are in both files, and either command can be run again."""
    before = file.read_text("utf-8")
    assert 0 == run(["wrap", "--client", "cursor"])
    file.write_text(before, "utf-8")

    assert 0 == run(["wrap", "--client", "cursor"])
    file.write_text(before, "utf-8")
    assert 0 == run(["wrap", "--client", "cursor", "--undo"])
    assert before == file.read_text("utf-8")
    assert not file.with_name("mcp.wrapped.json").exists()


@pytest.mark.usefixtures("file")
def test_vs_code() -> None:
    """VS Code's list has another name, and its entries say what they are; what only it can fill in stays."""
    path = Path(".vscode/mcp.json")
    path.parent.mkdir()
    asks = {"command": "x", "env": {"TOKEN": "${input:token}"}}
    inputs = [{"id": "token", "type": "promptString"}]
    write(path, {"inputs": inputs, "servers": {"github": GITHUB, "asks": asks}})
    assert 0 == run(["wrap", "--client", "vscode"])
    config = read(path)

    assert inputs == config["inputs"]
    assert "stdio" == config["servers"]["with-memory-project"]["type"]
    assert asks == config["servers"]["asks"]


@pytest.mark.long
def test_a_renamed_folder(file: Path) -> None:
    """Our entry is known by its name where the path in it leads nowhere any more."""
    assert 0 == run(["wrap", "--client", "cursor"])
    renamed = file.parent.rename(file.parent.with_name("renamed"))
    assert 0 == run(["wrap", "--file", str(renamed / file.name), "--undo"])
    assert CONFIG == read(renamed / file.name)


def test_another_server_with_our_name(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server of the user that has our name stays, beside a file of wrapped servers too, and when these come back."""
    run(["wrap", "--client", "cursor", "--only", "github"])
    config = read(file)
    config["mcpServers"]["with-memory-project"] = {"command": "mine"}
    write(file, config)
    assert 2 == run(["wrap", "--client", "cursor"])
    assert "'with-memory-project' that is not ours" in capsys.readouterr().err
    assert config == read(file)
    assert 0 == run(["wrap", "--client", "cursor", "--undo"])
    assert {**config["mcpServers"], "github": GITHUB} == read(file)["mcpServers"]


def test_links(file: Path) -> None:
    """A configuration that is a link, as of a folder of dotfiles, stays one."""
    target = file.parent / "real.json"
    file.rename(target)
    file.symlink_to(target)
    run(["wrap", "--file", str(file)])
    assert file.is_symlink()
    run(["wrap", "--file", str(file), "--undo"])
    assert CONFIG == read(target)


@for_each(
    "text, said",
    [
        ("{}", "lists no servers"),
        ('{"mcpServers": ["a"]}', "it has no object mcpServers or servers"),
        ('{"mcpServers": {"a": {"command": "x", "args": "-y b"}}}', "a: its args are not a list"),
        ('{"mcpServers": {"a": {"command": "x", "args": 5}}}', "a: its args are not a list"),
        ('{"mcpServers": {}}', "no server to wrap"),
        ('{"mcpServers": {"a": {"type": "sse", "url": "x"}}}', "old SSE transport"),
        ('{"mcpServers": {"a": {"type": "ws", "url": "x"}}}', "WebSocket"),
        ('{"mcpServers": {"a": {"command": "x", "envFile": ".env"}}}', "envFile"),
        ('{"mcpServers": {"a": {"url": "x", "oauth": {"clientId": "b"}}}}', "a login"),
        ('{"mcpServers": {"a": {"url": "x", "headersHelper": "/b"}}}', "a headersHelper"),
        (
            '{"mcpServers": {"with-memory-project": {"command": "x"}, "a": {"command": "x"}}}',
            "is not ours",
        ),
        ('// what I use\n{"mcpServers": {}}', "comments in it would be lost"),
    ],
)
def test_what_cannot_be_wrapped(
    text: str, said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A configuration that cannot be edited stays as it is, and the command says why."""
    file.write_text(text, "utf-8")
    assert 2 == run(["wrap", "--client", "cursor"])
    assert said in capsys.readouterr().err
    assert text == file.read_text("utf-8")
    assert not file.with_name("mcp.wrapped.json").exists()


@for_each(
    "arguments, said",
    [
        ([], "nothing to wrap"),
        (["--undo"], "--client"),
        (["--client", "cursor", "--undo"], "no server in"),
        (["--client", "netscape"], "there is no client 'netscape'"),
        (
            ["--client", "cursor", "--store", "postgresql://me:hunter2@host/db"],
            "the password in --store",
        ),
        (
            ["--client", "cursor", "--only", "gitlab"],
            "has no server gitlab; it has github, remote, off",
        ),
        (["--file", "none.json"], "cannot read none.json"),
        (
            ["--servers", ".cursor/mcp.json"],
            "'off' in .cursor/mcp.json cannot be wrapped: it is disabled",
        ),
    ],
)
@pytest.mark.usefixtures("file")
def test_mistakes(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be done is said in one line."""
    assert 2 == run(["wrap", *arguments])
    assert said in capsys.readouterr().err


def test_a_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the folder of the default database cannot be created, the command says which one, and what to give."""
    (tmp_path / "data").write_text("a file", "utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("MEMORY_CONTEXT_STORE", raising=False)
    assert 2 == run(["wrap", "--", "cat"])
    assert "cannot be created: Not a directory; give --store URL" in capsys.readouterr().err


@for_each("arguments", [["--", "cat"], ["--client", "cursor"], ["--file", ".mcp.json"]])
def test_no_home(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user id that has no home folder, as in many containers, is told what to set or to give."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", "XDG_DATA_HOME", "MEMORY_CONTEXT_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert 2 == run(["wrap", *arguments])
    told = capsys.readouterr().err
    assert "there is no home folder: set HOME" in told
    assert ("give --store URL" in told) == ("cat" in arguments)


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user id that the system has no name for, as in many containers, is a name of its own."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert f"cli:uid-{os.getuid()}" == login(audit=True)


def test_variables(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables in a file of servers are filled in, as the clients do it."""
    monkeypatch.setenv("TOKEN", 'a"b')
    spare = {"command": "${PROGRAM:-npx}", "args": ["${MISSING}", "$HOME"], "cwd": "/srv"}
    write(file, {"mcpServers": {"github": GITHUB, "remote": REMOTE, "spare": spare}})
    github, remote, other = servers_in(file)

    assert {"TOKEN": 'a"b'} == github.environment
    assert ({"Authorization": 'Bearer a"b'}, "https://mcp.example/mcp") == (
        remote.headers,
        remote.url,
    )
    assert (("npx", "", "$HOME"), "/srv") == (other.command, other.folder)


def test_what_vs_code_takes(file: Path) -> None:
    """Its schema (1.100) has numbers and null among the variables; other members may be null, too."""
    entry = {"command": "x", "args": None, "env": {"PORT": 8080, "DEBUG": None, "A": "b"}}
    write(file, {"servers": {"one": entry, "two": {"url": "y", "headers": None}}})
    one, two = servers_in(file)
    assert ({"PORT": "8080", "A": "b"}, ("x",)) == (one.environment, one.command)
    assert {} == two.headers
    assert 0 == run(["wrap", "--client", "cursor"])
    assert 0 == run(["wrap", "--client", "cursor", "--undo"])


def test_where_clients_keep_it(file: Path, tmp_path: Path) -> None:
    """The project's list comes before the user's, and our entry in it is called otherwise: of one name one would start."""
    home = tmp_path / "home"
    mine = ServerList(home / ".cursor/mcp.json")
    assert [ServerList(file, entry="with-memory-project"), mine] == lists_of("cursor")
    file.unlink()
    assert [mine] == lists_of("cursor")
    [place] = lists_of("claude")
    assert "claude_desktop_config.json" == place.file.name
    assert "Code/User/mcp.json" in str(lists_of("vscode")[0])


class TestClaudeCode:
    """Its lists, in the form in which version 2.1.197 wrote them: see `claude mcp add --help`."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder in a repository, with servers of all three scopes."""
        stdio: dict[str, Any] = {"type": "stdio", "args": [], "env": {}}
        known: dict[str, Any] = {
            "allowedTools": [],
            "mcpServers": {"mine_here": {**stdio, "command": "here"}},
        }
        home, root = tmp_path / "home", tmp_path / "repository"
        config: dict[str, Any] = {
            "migrationVersion": 13,
            "projects": {"/other": known, str(root): known},
            "mcpServers": {"mine": {**stdio, "command": "everywhere"}},
        }
        (root / "part/.claude").mkdir(parents=True)
        (root / ".git").mkdir()
        home.mkdir()
        # It writes no line's end behind the last one.
        (home / ".claude.json").write_text(json.dumps(config, indent=2))
        servers = {"ours": {**stdio, "command": "ours"}, "rejected": {"command": "evil"}}
        (root / "part/.mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=2))
        settings = {"disabledMcpjsonServers": ["rejected"]}
        (root / "part/.claude/settings.local.json").write_text(json.dumps(settings))
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.chdir(root / "part")
        return root / "part"

    def test_scopes(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What it lists for the user in this folder comes first, then the folder's, then the user's; undone one by one."""
        own, ours = Path.home() / ".claude.json", folder / ".mcp.json"
        before = own.read_bytes(), ours.read_bytes()
        assert 0 == run(["wrap", "--client", "claude-code"])
        config = read(own)
        [(name, entry)] = config["projects"][str(folder.parent)]["mcpServers"].items()
        assert ("with-memory-local", "stdio") == (name, entry["type"])
        assert ["mine_here"] == [*config["projects"]["/other"]["mcpServers"]]
        assert ["mine_here"] == [server.name for server in servers_in(Path(entry["args"][-1]))]
        assert f"{own}, {folder.parent}: mine_here wrapped" in capsys.readouterr().out

        for file in (".mcp.json", str(own)):
            assert 0 == run(
                ["wrap", "--file", file, "--only", "ours" if file == ".mcp.json" else "mine"]
            )
        assert ["with-memory"] == [*read(own)["mcpServers"]]
        assert ["with-memory-project", "rejected"] == [*read(ours)["mcpServers"]]
        for _ in range(3):
            assert 0 == run(["wrap", "--client", "claude-code", "--undo"])
        assert before == (own.read_bytes(), ours.read_bytes())
        assert {".claude.json", ".local"} >= {path.name for path in Path.home().iterdir()}

    def test_rejected(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A server that its user has rejected, or switched off, is not started by ours instead."""
        own = Path.home() / ".claude.json"
        config = read(own)
        config["projects"][str(folder.parent)] = {"disabledMcpServers": ["ours"]}
        write(own, config)
        assert 2 == run(["wrap", "--client", "claude-code"])
        said = capsys.readouterr().err
        assert "ours: it is switched off; rejected: it is switched off" in said

    def test_entry_taken_out_by_hand(self, folder: Path) -> None:
        """Servers of one folder come back although nobody lists our entry any more."""
        own = Path.home() / ".claude.json"
        before = read(own)
        assert 0 == run(["wrap", "--client", "claude-code"])
        config = read(own)
        config["projects"][str(folder.parent)]["mcpServers"] = {}
        write(own, config)
        assert 0 == run(["wrap", "--client", "claude-code", "--undo"])
        assert before == read(own)

    @for_each("said", ["", '{"disabledMcpjsonServers": true}', "{ // a comment\n}"])
    def test_settings_that_say_nothing(self, said: str, folder: Path) -> None:
        """Settings that are only looked at stop nothing."""
        (folder / ".claude/settings.json").write_text(said)
        own = Path.home() / ".claude.json"
        own.write_text("{ // a comment\n}")
        assert 0 == run(["wrap", "--file", ".mcp.json"])
        assert 0 == run(["wrap", "--client", "claude-code", "--undo"])

    def test_folder_of_its_own(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """CLAUDE_CONFIG_DIR says where its configuration is."""
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "elsewhere"))
        assert folder / "elsewhere/.claude.json" == lists_of("claude-code")[-1].file
