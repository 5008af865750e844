//! Sandboxed commands: attacks on anything outside have no effect, and ordinary commands work.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{
    Project, Provider, Run, World, architect, diff, editor, greeting_fix_checked_by,
    plan_verified_by, processes_left_in, shell, short_or_long, wait_until,
};

/// A secret that no command may read.
const CANARY: &str = "canary-5f8c1d77a9e04b62";
/// A secret in the environment of the program. It differs from [`CANARY`] because on the floor the command lines of other
/// tests are visible, and those may contain that one.
const ENV_SECRET: &str = "hushed-91d2c07be5a3f846";

/// The level of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Full,
    Floor,
}

/// A world with files outside that must not change, and sockets that must not be reached.
pub(super) struct Site {
    world: World,
    level: Level,
    outside: tempfile::TempDir,
    pub(super) tcp: TcpListener,
    udp: UdpSocket,
    sockets: Vec<UnixListener>,
    abstract_name: String,
}

impl Site {
    /// Sets up a site. Returns `None`, and prints so, if this machine does not support the level.
    pub(super) fn at(level: Level) -> Option<Self> {
        let project = Project::new(&[
            ("greet.txt", "hello\n"),
            ("check.sh", "grep -q world greet.txt\n"),
            (".gitignore", "/.env\n/target\n"),
            ("Cargo.toml", ""),
        ]);
        let mode = if level == Level::Full { "auto" } else { "floor" };
        let config = format!("[sandbox]\nmode = \"{mode}\"\nfloor = \"accept\"\n");
        let world = World::of(project, Provider::new(Vec::new())).configure(&config);
        let policy = world.deepseek(["policy", "show", "--output", "json"]).run();
        let policy: serde_json::Value = serde_json::from_str(&policy.stdout).unwrap();
        let wanted = if level == Level::Full { "full" } else { "floor, accepted" };
        if policy["confinement"] != wanted {
            skipped(&format!("commands are confined so far here: {}", policy["confinement"]));
            return None;
        }
        let outside = tempfile::tempdir().unwrap();
        let secret = format!("SECRET={CANARY}\n");
        let home = world.home();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        for path in [home.join(".ssh/id_rsa"), home.join(".netrc"), outside.path().join("kept")] {
            fs::write(path, &secret).unwrap();
        }
        for path in [".env", "deep/er/.env", "certs/server.key"] {
            world.project.write(path, &secret);
        }
        fs::write(outside.path().join("tool.sh"), "true\n").unwrap();
        for (link, to) in [
            ("out", outside.path().to_owned()),
            ("id", home.join(".ssh/id_rsa")),
            ("target", outside.path().to_owned()),
        ] {
            symlink(to, world.project.path(link)).unwrap();
        }
        let abstract_name = format!("{CANARY}-{}", outside.path().display());
        let name = SocketAddr::from_abstract_name(format!("{abstract_name}-{level:?}")).unwrap();
        let sockets = vec![
            UnixListener::bind(home.join("agent.sock")).unwrap(),
            UnixListener::bind(world.project.path("tree.sock")).unwrap(),
            UnixListener::bind_addr(&name).unwrap(),
        ];
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        for socket in &sockets {
            socket.set_nonblocking(true).unwrap();
        }
        Some(Self { world, level, outside, tcp, udp, sockets, abstract_name })
    }

    /// Runs a command line as a run would.
    fn runs(&self, line: &str) -> Run {
        let home = self.world.home();
        let line = line
            .replace("HOMEDIR", home.to_str().unwrap())
            .replace("OUTSIDE", self.outside.path().to_str().unwrap())
            .replace("TCP", &self.tcp.local_addr().unwrap().port().to_string())
            .replace("UDP", &self.udp.local_addr().unwrap().port().to_string())
            .replace("ABSTRACT", &format!("{}-{:?}", self.abstract_name, self.level))
            .replace("TESTPID", &std::process::id().to_string());
        let mut program = self.world.deepseek(["sandbox", "--", &line]);
        program.env("MY_API_KEY", ENV_SECRET).env("SERVICE_TOKEN", ENV_SECRET).run()
    }

    /// Snapshots everything that must not change: the files outside, the names in the tree and the repository.
    fn snapshot(&self) -> (Vec<(PathBuf, String, u32)>, String) {
        let mut found = Vec::new();
        for dir in [self.outside.path().to_owned(), self.world.home().join(".ssh")] {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let content = fs::read_to_string(&path).unwrap_or_default();
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                found.push((path, content, mode));
            }
        }
        found.sort();
        let tree = shell(self.world.project.root(), "find . -path ./.git -prune -o -print | sort");
        (found, tree + &format!("{:?}", self.world.project.hashes(".git")))
    }

    /// Returns true if no socket was reached.
    fn is_untouched(&self) -> bool {
        let blocked = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        self.tcp.accept().is_err_and(blocked)
            && self.udp.recv(&mut [0; 8]).is_err_and(blocked)
            && self.sockets.iter().all(|socket| socket.accept().is_err_and(blocked))
    }

    /// Runs each attack and checks that it had no effect.
    fn withstands(&self, attacks: &[&str]) {
        let before = self.snapshot();
        for attack in attacks {
            let run = self.runs(attack);
            let said = format!("{}{}", run.stdout, run.stderr);
            let tells = said.contains(CANARY) || said.contains(ENV_SECRET);
            assert!(!tells, "{:?}: {attack}: {said}", self.level);
            assert!(run.code.is_some(), "{:?}: {attack}: {said}", self.level);
            assert_eq!(self.snapshot(), before, "{:?}: {attack}: {said}", self.level);
            assert!(self.is_untouched(), "{:?}: {attack}: {said}", self.level);
            assert_eq!(
                processes_left_in(self.world.project.root()),
                Vec::<String>::new(),
                "{attack}"
            );
        }
    }
}

/// Prints why a test is skipped on this machine. What macros print is shown only for tests that fail.
pub(crate) fn skipped(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

fn sites() -> impl Iterator<Item = Site> {
    [Level::Full, Level::Floor].into_iter().filter_map(Site::at)
}

#[test]
fn secrets_outside_and_inside_the_tree_cannot_be_read() {
    for site in sites() {
        site.withstands(&[
            "cat HOMEDIR/.ssh/id_rsa HOMEDIR/.netrc OUTSIDE/kept",
            "cat id out/kept",
            "cat ~/.ssh/id_rsa; cat ~/../*/.ssh/id_rsa",
            "cat /proc/self/root/HOMEDIR/.ssh/id_rsa",
            "cat /proc/1/root/HOMEDIR/.ssh/id_rsa /proc/1/cwd/.env",
            "cp /bin/cat mine 2>/dev/null; cp /bin/cat $TMPDIR/mine; $TMPDIR/mine HOMEDIR/.ssh/id_rsa; ./mine .env",
            "/lib64/ld-linux-x86-64.so.2 /bin/cat HOMEDIR/.ssh/id_rsa",
            "python3 -c 'print(open(\"HOMEDIR/.ssh/id_rsa\").read())'",
            "cat .env deep/er/.env certs/server.key",
            "grep -rs SECRET . ; grep -rs SECRET ../",
            "tar cf - . | tr -d '\\0'",
            "mv deep moved; cat moved/er/.env; mv .env e; cat e; ln .env l; cat l",
            "cp -a . $TMPDIR/copy; cat $TMPDIR/copy/.env",
            "cat ./././.env deep/../.env \"$PWD/.env\"",
            "dd if=.env; head -c 99 .env; xxd .env",
            "find / -name id_rsa -exec cat {} + 2>/dev/null",
            "cat /etc/shadow /etc/ssh/* && false",
        ]);
    }
}

#[test]
fn the_environment_and_memory_of_the_program_cannot_be_read() {
    for site in sites() {
        site.withstands(&[
            "cat /proc/$PPID/environ; strings /proc/$PPID/environ",
            "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -i hushed",
            "for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done 2>/dev/null | tr '\\0' '\\n' | grep -a hushed-9",
            "head -c 1000 /proc/TESTPID/environ; ls -l /proc/TESTPID/fd /proc/TESTPID/cwd",
            "cat /proc/$PPID/mem /proc/1/mem | grep -a hushed-9",
            "gdb -p $PPID -batch; strace -p $PPID",
            "cat /proc/$PPID/fd/0; echo '{\"Ended\":{\"Code\":0}}' >> /proc/$PPID/fd/0",
        ]);
    }
}

#[test]
fn a_command_inherits_neither_its_orders_nor_the_report() {
    for site in sites() {
        let run = site.runs("readlink /proc/self/fd/*");
        let inherits = ["memfd", "signalfd"].iter().any(|it| run.stdout.contains(it));
        assert!(run.stdout.contains("/dev/null") && !inherits, "{:?}: {}", site.level, run.stdout);
        // A forged report of walls that failed would make the program lower them.
        let forged = r#"{"Failed":{"step":"Namespaces","on":null,"errno":1}}"#;
        let script =
            format!("for fd in 3 4 5 6 7; do (echo '{forged}' >&$fd) 2>/dev/null; done; exit 3");
        let run = site.runs(&script);
        assert_eq!(run.code, Some(3), "{:?}: {}", site.level, run.stderr);
    }
}

#[test]
fn neither_the_outside_nor_the_tree_can_be_written() {
    for site in sites() {
        site.withstands(&[
            "touch OUTSIDE/pwned HOMEDIR/.ssh/pwned",
            "echo x > OUTSIDE/kept; echo x >> out/kept; truncate -s 0 OUTSIDE/kept",
            "rm -rf OUTSIDE out/ HOMEDIR/.ssh target/",
            "mv OUTSIDE/kept OUTSIDE/gone; ln OUTSIDE/kept OUTSIDE/link; mkdir OUTSIDE/d",
            "python3 -c 'open(\"OUTSIDE/kept\",\"w\").write(\"x\")'",
            "touch target/pwned; echo x > target/kept",
            "rm -rf * .env .gitignore; ls",
            "echo x > greet.txt; sed -i s/hello/bye/ greet.txt; chmod 000 greet.txt",
            "echo x > .git/hooks/pre-commit; echo x >> .git/config; rm -rf .git/refs; mv .git g",
            "git commit -qam x; git stash; git checkout -b b; git add -A; git config a.b c; git gc",
            "mkdir -p .deepseek && echo 'policy.mode = \"yolo\"' > .deepseek/config.toml",
            "mkdir -p sub/.git/hooks && echo x > sub/.git/hooks/post-checkout",
            "ln -s OUTSIDE new; echo x > new/kept; ln -sfn OUTSIDE greet.txt; echo > greet.txt/pwned",
            "cd OUTSIDE && touch pwned; cd / && touch pwned",
            "git worktree add OUTSIDE/w; git init OUTSIDE/g",
        ]);
    }
}

#[test]
fn system_settings_cannot_be_written() {
    for site in sites() {
        for file in
            ["kernel/core_pattern", "kernel/domainname", "vm/swappiness", "net/ipv4/ip_forward"]
        {
            let path = format!("/proc/sys/{file}");
            // Write back the current value, so that no harm is done if the write succeeds.
            site.withstands(&[&format!("cat {path} > {path} && echo {CANARY}")]);
        }
        site.withstands(&[
            &format!("echo 0 > /proc/self/oom_score_adj && echo {CANARY}"),
            &format!("echo h > /proc/sysrq-trigger && echo {CANARY}"),
            &format!("touch /sys/kernel/x /etc/x /usr/bin/x /x && echo {CANARY}"),
        ]);
    }
}

#[test]
fn a_repository_cannot_expose_another_one_through_git_links() {
    for site in sites() {
        let other = site.outside.path().join("other");
        fs::create_dir_all(&other).unwrap();
        let made = format!(
            "git init -q . && echo {CANARY} > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x"
        );
        shell(&other, &made);
        let said = fs::read_to_string(other.join(".git/HEAD")).unwrap();
        let root = site.world.project.root();
        fs::create_dir_all(root.join(".git/objects/info")).unwrap();
        let objects = format!("{}\n", other.join(".git/objects").display());
        fs::write(root.join(".git/objects/info/alternates"), objects).unwrap();
        let all = "git cat-file --batch --batch-all-objects; cat OUTSIDE/other/.git/HEAD; cat OUTSIDE/other/f";
        site.withstands(&[all]);
        fs::rename(root.join(".git"), site.outside.path().join("moved")).unwrap();
        fs::write(root.join(".git"), format!("gitdir: {}\n", other.join(".git").display()))
            .unwrap();
        let run = site.runs(all);
        assert!(
            !run.stdout.contains(CANARY) && !run.stdout.contains(said.trim()),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn with_full_confinement_modes_and_times_outside_cannot_be_changed() {
    let Some(site) = Site::at(Level::Full) else { return };
    site.withstands(&[
        "chmod 777 OUTSIDE/kept; chmod -R 000 HOMEDIR/.ssh; chown 1 out/kept",
        "touch -d 2001-01-01 OUTSIDE/kept out/kept",
        "chmod 777 target/kept id",
    ]);
}

#[test]
fn no_process_or_socket_is_reached_and_nothing_outlives_the_command() {
    const REACH: &str = r#"python3 -c '
import socket
for where in (("127.0.0.1", TCP), ("localhost", TCP)):
    try: socket.create_connection(where, 1).send(b"x")
    except OSError as error: print(error)
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", UDP))
except OSError as error: print(error)
for where in ("HOMEDIR/agent.sock", "tree.sock", "\0ABSTRACT", "/run/docker.sock"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try: socket.socket(socket.AF_UNIX, kind).connect(where)
        except OSError as error: print(error)
for family in (socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG):
    try: print("opened", socket.socket(family, socket.SOCK_RAW))
    except OSError as error: print(error)
'"#;
    for site in sites() {
        site.withstands(&[
            REACH,
            "bash -c 'echo x > /dev/tcp/127.0.0.1/TCP; echo x > /dev/udp/127.0.0.1/UDP'",
            "curl -s -m 2 http://127.0.0.1:TCP; wget -q -T 2 -t 1 http://127.0.0.1:TCP; true",
            "setsid sleep 600 & nohup sleep 601 & (sleep 602 &) ; (setsid setsid sleep 603 &)",
            "python3 -c 'import os,time; os.fork() or (os.setsid(), os.fork() or time.sleep(600))'",
            "sleep 600 & kill -9 $PPID; kill -9 0",
            "setsid sleep 600 & kill -9 -1; kill -9 $PPID",
            "kill -9 TESTPID; kill -STOP TESTPID; kill TESTPID",
            "unshare -Ur true && echo UNSHARED; unshare -n true; nsenter -t 1 -m ls; chroot / ls",
            "mount -t tmpfs x /mnt; mount --bind / /mnt; umount /tmp; umount -l .env; umount .git",
            "python3 -c 'import ctypes; c=ctypes.CDLL(None); print(c.syscall(425,8,0), c.syscall(272,0x10000000), c.syscall(165,0,0,0,0,0))'",
        ]);
    }
}

#[test]
fn ordinary_commands_work() {
    let Some(site) = Site::at(Level::Full) else { return };
    for line in [
        "test \"$(cat greet.txt)\" = hello && echo x > greet.txt && test \"$(cat greet.txt)\" = x",
        "test -z \"$(cat .env)\"",
        "echo > /dev/null && mktemp && touch /dev/shm/x /tmp/x ~/x && ls ~",
        "python3 -c 'import os,pty; pty.openpty(); assert os.cpu_count()'",
        "git status && git log -1 && git diff",
        "bash -c 'cat <(echo x) /dev/fd/0 </dev/null'",
        "test ! -e HOMEDIR/.ssh && test -d \"$HOME\" && id && ls /usr/bin/env",
    ] {
        let run = site.runs(line);
        assert_eq!(run.code, Some(0), "{line}: {}{}", run.stdout, run.stderr);
    }
    let loopback = site.runs(
        r#"python3 -c 'import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.create_server((host, 0), family=family)
    socket.create_connection(server.getsockname()[:2])'"#,
    );
    assert_eq!(loopback.code, Some(0), "{}{}", loopback.stdout, loopback.stderr);
}

#[test]
fn the_exit_code_of_a_command_is_passed_on() {
    for site in sites() {
        for (line, code) in [
            ("sh -c 'exit 3'", 3),
            ("sh -c 'kill -9 $$'", 137),
            ("true", 0),
            ("no-such-program", 127),
        ] {
            let run = site.runs(line);
            assert_eq!(run.code, Some(code), "{:?}: {line}: {}", site.level, run.stderr);
        }
    }
}

#[test]
fn files_changed_by_a_check_are_reported_and_discarded() {
    let Some(_) = Site::at(Level::Full) else { return };
    let check = "echo changed > other.txt && rm -f gone.txt && grep -q world greet.txt";
    let world = World::greeting(greeting_fix_checked_by(&[check]));
    world.project.write("other.txt", "as it was\n");
    world.project.write("gone.txt", "here\n");
    shell(world.project.root(), "git add -A && git -c user.name=a -c user.email=a@b commit -qm x");
    let run = world.request("Fix the greeting").args(["--yolo"]).run();
    assert_eq!(run.ending(), "0 delivered/proven", "{}", run.stderr);
    assert_eq!(world.project.read("other.txt"), "as it was\n");
    assert_eq!(world.project.read("gone.txt"), "here\n");
    let ran = run.all("VerificationRun");
    let found = &ran.last().unwrap()["findings"];
    assert_eq!(found["confined"], "full");
    assert_eq!(found["discarded"].to_string(), r#"["gone.txt","other.txt"]"#);
}

#[test]
fn code_written_by_a_lane_runs_without_approval_and_cannot_write_outside() {
    let Some(site) = Site::at(Level::Full) else { return };
    let team = "TEAM_PLAN_V1\nLANE|01|first|one\nOWN|01|run.sh\nLANE|02|second|two\nOWN|02|two.txt\nTEAM_PLAN_END";
    let pwned = site.outside.path().join("pwned");
    let new =
        format!("--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+touch {}; true\n", pwned.display());
    let check = "sh check.sh";
    let replies = vec![
        mock::ScriptedReply::text(team).to("lane-planner"),
        architect(plan_verified_by(&["run.sh"], &[check])).in_lane("01"),
        editor(new).in_lane("01"),
        architect(plan_verified_by(&["two.txt"], &[check])).in_lane("02"),
        editor(diff("two.txt", "two", "zwei")).in_lane("02"),
    ];
    let runs = "if [ -e run.sh ]; then sh run.sh; fi\n";
    let project = Project::new(&[("two.txt", "two\n"), ("check.sh", runs)]);
    let world = World::of(project, Provider::new(replies));
    let args = ["--force-execute", "-p", "Do both", "--teammate-mode", "on", "--yolo"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.project.path("run.sh").exists() && !pwned.exists());
}

/// Generates command lines that a hostile model might put into a plan, from a seed.
fn generated(seed: u64, count: usize) -> Vec<String> {
    const ACTIONS: [&str; 27] = [
        "cat {}",
        "grep -rs '' {}",
        "head -c 4096 {}",
        "sed -n p {}",
        "awk 1 {}",
        "tar cf - {}",
        "base64 {}",
        "python3 -c \"print(open('{}').read())\"",
        "cp {} $TMPDIR/c && cat $TMPDIR/c",
        "touch {}",
        "rm -rf {}",
        "cp greet.txt {}",
        "mv greet.txt {}",
        "ln -sf greet.txt {}",
        "dd if=greet.txt of={}",
        "truncate -s 0 {}",
        "mkdir -p {}",
        "sed -i s/./x/ {}",
        "tee {} < greet.txt",
        "install greet.txt {}",
        "git init {}",
        "git --work-tree={} checkout -f",
        "echo pwned > {}",
        "find {} -exec cat {} +",
        "printenv MY_API_KEY SERVICE_TOKEN",
        "bash -c \"cat < /dev/tcp/127.0.0.1/TCP\"",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', TCP))\"",
    ];
    const TARGETS: [&str; 14] = [
        "OUTSIDE/kept",
        "OUTSIDE/new",
        "HOMEDIR/.ssh/id_rsa",
        "HOMEDIR/.netrc",
        "HOMEDIR/x",
        "out/kept",
        "id",
        ".env",
        "deep/er/.env",
        "/proc/1/root/OUTSIDE/kept",
        "/proc/self/root/HOMEDIR/.netrc",
        ".git/config",
        "target/x",
        "..",
    ];
    const WRAPPERS: [&str; 13] = [
        "{}",
        "sh -c \"{}\"",
        "env A=b {}",
        "setsid {}",
        "nohup {}",
        "timeout 5 {}",
        "nice {}",
        "true && {}",
        "! {}",
        "echo $({})",
        "A=`{}` true",
        "{} > $TMPDIR/x; cat $TMPDIR/x",
        "true | {} 2>&1 | cat",
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pick = |from: &[&'static str]| from[random.usize(..from.len())];
    let line = |_| {
        let action = pick(&ACTIONS).replace("{}", pick(&TARGETS));
        // A command with quotes of its own is not nested in others.
        let wrapper = if action.contains('"') { "true && {}" } else { pick(&WRAPPERS) };
        wrapper.replace("{}", &action)
    };
    (0..count).map(line).collect()
}

#[test]
fn generated_attacks_have_no_effect() {
    for site in sites() {
        let lines = generated(14, short_or_long(120, 500));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        site.withstands(&lines);
    }
}

#[test]
fn generated_attacks_in_a_plan_have_no_effect_under_any_approval() {
    let Some(site) = Site::at(Level::Full) else { return };
    let home = site.world.home().to_str().unwrap().to_owned();
    let outside = site.outside.path().to_str().unwrap();
    for (seed, approval) in [(1, "--approval=suggest"), (2, "--approval=auto"), (3, "--yolo")] {
        for line in generated(seed, short_or_long(12, 500)) {
            let line = line.replace("HOMEDIR", &home).replace("OUTSIDE", outside);
            let world = World::greeting(greeting_fix_checked_by(&[&line])).with_default_commands();
            world.project.write(".env", format!("SECRET={CANARY}\n"));
            symlink(outside, world.project.path("out")).unwrap();
            let before = site.snapshot();
            let run = world.deepseek(["--force-execute", "-p", "Fix it", approval]).run();
            assert!(run.code.is_some(), "{approval}: {line}: {}", run.stderr);
            assert_eq!(site.snapshot(), before, "{approval}: {line}: {}", run.stderr);
            let said: Vec<String> =
                world.provider.requests().iter().map(|request| format!("{request:?}")).collect();
            assert!(!said.concat().contains(CANARY), "{approval}: {line}");
            assert!(!run.stderr.contains(CANARY) && !run.stdout.contains(CANARY), "{line}");
        }
    }
}

/// Counts the processes with `word` as an argument.
fn running(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let lines = processes.filter_map(|process| fs::read_to_string(process.join("cmdline")).ok());
    lines.filter(|line| line.split('\0').any(|part| part == word)).count()
}

#[test]
fn a_stopped_or_killed_program_leaves_no_processes() {
    for (n, level) in [Level::Full, Level::Floor].into_iter().enumerate() {
        let Some(site) = Site::at(level) else { continue };
        for (m, killed) in [false, true].into_iter().enumerate() {
            let word = format!("73{n}{m}{}", std::process::id());
            let line = format!("setsid sleep {word} & (setsid nohup sleep {word} &); sleep {word}");
            let mut program = site.world.deepseek(["sandbox", "--", &line]);
            let mut begun = program.start();
            begun.until(|| running(&word) >= 3);
            if killed {
                begun.kill();
            } else {
                // Not SIGINT, which background processes ignore.
                begun.signal(Signal::TERM);
                begun.end();
            }
            let gone = wait_until(Duration::from_secs(20), || (running(&word) == 0).then_some(()));
            assert!(gone.is_some(), "{level:?}, killed: {killed}");
        }
    }
}
