//! A wall clock that jumps under a running server, as `date -s` would make it, without touching the machine's.
//!
//! A library that is preloaded does not reach a static program, and a time namespace has no wall clock. So the page from
//! which the system lets every process read the clock is changed in the server's own memory: its function then asks the
//! system and adds the jump. Nothing in headspace knows about it.

use headspace_test_support::skip;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

/// Moves the wall clock of a process. `false`, with a skip: not possible here.
pub fn jump(pid: u32, seconds: i64) -> bool {
    let done =
        if cfg!(all(target_os = "linux", target_arch = "x86_64")) { patch(pid, seconds) } else { None };
    if done.is_none() {
        skip(
            "the clock of another process can be moved on Linux on x86-64 only, where its memory may be written",
        );
    }
    done.is_some()
}

fn patch(pid: u32, seconds: i64) -> Option<()> {
    // SAFETY: sends a signal to a process of this test.
    let signal = |signal| unsafe { libc::kill(pid as i32, signal) };
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem")).ok()?;
    let mut image = vec![0; (end - start) as usize];
    memory.read_exact_at(&mut image, start).ok()?;
    let (at, size) = function(&image, "__vdso_clock_gettime")?;
    let mut code = vec![0xb8, 228, 0, 0, 0]; // mov eax, clock_gettime
    code.extend([0x0f, 0x05]); // syscall
    code.extend([0x85, 0xff]); // test edi, edi: the wall clock is number 0
    code.extend([0x75, 13]); // jne to the end
    code.extend([0x48, 0xb9]); // mov rcx, the jump
    code.extend(seconds.to_le_bytes());
    code.extend([0x48, 0x01, 0x0e]); // add [rsi], rcx
    code.push(0xc3); // ret
    if size < code.len() as u64 {
        return None;
    }
    signal(libc::SIGSTOP);
    let written = memory.write_all_at(&code, start + at);
    signal(libc::SIGCONT);
    written.ok()
}

/// Where a function is in an ELF image, and its size: from the dynamic symbols, which lie before their names.
fn function(image: &[u8], name: &str) -> Option<(u64, u64)> {
    let number = |at: usize, bytes: usize| {
        let slice = image.get(at..at + bytes)?;
        Some(slice.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let (table, entry, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    let dynamic = (0..count).map(|one| table + one * entry).find(|at| number(*at, 4) == Some(2))?;
    let (mut symbols, mut names) = (None, None);
    let mut at = number(dynamic + 8, 8)? as usize;
    while number(at, 8)? != 0 {
        match number(at, 8)? {
            5 => names = number(at + 8, 8),
            6 => symbols = number(at + 8, 8),
            _ => {}
        }
        at += 16;
    }
    let (symbols, names) = (symbols? as usize, names? as usize);
    (symbols..names).step_by(24).find_map(|symbol| {
        let text = image.get(names + number(symbol, 4)? as usize..)?;
        let is_it = text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0);
        is_it.then(|| Some((number(symbol + 8, 8)?, number(symbol + 16, 8)?))).flatten()
    })
}
