use super::*;

fn delivery(stamp: i64) -> Delivery {
    Delivery { sent_at: Stamp(stamp), random: crate::process::random() }
}

fn spool(events: u64, bytes: u64) -> (tempfile::TempDir, Spool) {
    let home = tempfile::tempdir().unwrap();
    let spool = Spool::at(Place { dir: home.path().join("state/spool"), bounds: Bounds { events, bytes } });
    spool.second.set(Vec::new()).unwrap();
    (home, spool)
}

fn stamps(records: &[Record]) -> Vec<i64> {
    records.iter().map(|record| record.sent_at.0).collect()
}

#[test]
fn events_come_back_in_the_order_of_their_stamps_until_they_are_removed() {
    let (_home, mut spool) = spool(100, 1 << 20);
    assert_eq!(spool.read_batch(10).len(), 0);
    for stamp in [30, 10, 20] {
        spool
            .append(&delivery(stamp), "stop", format!("{{\"n\":{stamp}}}").as_bytes(), Durability::Crash)
            .unwrap();
    }
    let batch = spool.read_batch(2);
    assert_eq!(stamps(&batch), [10, 20]);
    assert_eq!((batch[0].slug.as_str(), batch[0].body.as_slice()), ("stop", &b"{\"n\":10}"[..]));
    spool.remove(&batch[0]).unwrap();
    spool.remove(&batch[0]).unwrap();
    assert_eq!(stamps(&spool.read_batch(9)), [30]);
    assert_eq!(stamps(&spool.read_batch(9)), [20, 30]);
    assert_eq!(spool.pending().count, 2);
}

#[test]
#[cfg(unix)]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let (home, spool) = spool(100, 1 << 20);
    spool.append(&delivery(1), "stop", b"{}", Durability::Crash).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.path().join("state")), 0o700);
    assert_eq!(mode(&spool.first.dir), 0o700);
    for entry in fs::read_dir(&spool.first.dir).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn a_full_spool_drops_the_oldest_and_counts_them() {
    let (_home, mut spool) = spool(32, 1 << 20);
    for stamp in 0..100 {
        spool.append(&delivery(stamp), "stop", b"{}", Durability::Crash).unwrap();
    }
    let pending = spool.pending();
    assert!(pending.count <= 32 && pending.count >= 30, "{pending:?}");
    assert_eq!(pending.count + pending.dropped, 100);
    assert_eq!(stamps(&spool.read_batch(1000)).last(), Some(&99));
}

#[test]
fn bytes_are_bounded_too() {
    let (_home, spool) = spool(1000, 64 * 1024);
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(10_000));
    for stamp in 0..20 {
        spool.append(&delivery(stamp), "stop", body.as_bytes(), Durability::Crash).unwrap();
    }
    let pending = spool.pending();
    assert!(pending.bytes <= 64 * 1024 && pending.count >= 5, "{pending:?}");
}

#[test]
fn a_meter_that_was_lost_or_lags_behind_the_server_drops_nothing() {
    let (_home, mut spool) = spool(8, 1 << 20);
    for round in 0..10 {
        for stamp in 0..5 {
            spool.append(&delivery(round * 10 + stamp), "stop", b"{}", Durability::Crash).unwrap();
        }
        let batch = spool.read_batch(100);
        assert_eq!(batch.len(), 5);
        batch.iter().for_each(|record| spool.remove(record).unwrap());
        if round == 5 {
            fs::write(spool.first.dir.join(".meter"), "nonsense").unwrap();
        }
    }
    assert_eq!(spool.pending(), Pending::default());
}

#[test]
fn broken_files_are_set_aside_and_do_not_hold_up_the_rest() {
    let (_home, mut spool) = spool(100, 1 << 20);
    for stamp in 1..=4 {
        spool.append(&delivery(stamp), "stop", b"{\"a\":1}", Durability::Crash).unwrap();
    }
    let names = spool.first.list();
    let path = |name: &Name| spool.first.dir.join(name.text());
    fs::write(path(&names[0]), b"").unwrap();
    fs::write(path(&names[1]), vec![0; names[1].size as usize]).unwrap();
    fs::write(spool.first.dir.join("stranger"), b"?").unwrap();
    fs::write(spool.first.dir.join(".0000000000000001-0000000000000001-9.event.tmp"), b"half").unwrap();
    assert_eq!(stamps(&spool.read_batch(100)), [3, 4]);
    let pending = spool.pending();
    assert_eq!((pending.count, pending.bad), (2, 3));
    assert!(!spool.first.dir.join(".0000000000000001-0000000000000001-9.event.tmp").exists());
}

#[test]
fn many_writers_at_once_lose_and_mix_nothing() {
    let (_home, mut spool) = spool(10_000, 1 << 24);
    // Stamped now, because files that look abandoned are removed.
    let now = Stamp::now().0;
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let spool = &spool;
            scope.spawn(move || {
                for n in 0..20 {
                    let body = format!("{{\"w\":{writer},\"n\":{n}}}");
                    spool
                        .append(&delivery(now + writer * 100 + n), "stop", body.as_bytes(), Durability::Crash)
                        .unwrap();
                }
            });
        }
    });
    let batch = spool.read_batch(1000);
    assert_eq!(batch.len(), 320);
    for record in &batch {
        let body: serde_json::Value = serde_json::from_slice(&record.body).unwrap();
        assert_eq!(body["w"].as_i64().unwrap() * 100 + body["n"].as_i64().unwrap(), record.sent_at.0 - now);
    }
}

#[cfg(unix)]
fn with_second_place(home: &Path, spool: &mut Spool) -> PathBuf {
    let runtime = home.join("run");
    files::private_dir(&runtime).unwrap();
    let second = SecondPlace::new(runtime.clone(), "headspace/spool/x".into());
    spool.second = OnceLock::from(vec![second]);
    runtime
}

#[cfg(unix)]
#[test]
fn both_places_are_read_as_one_spool() {
    let (home, mut spool) = spool(100, 1 << 20);
    with_second_place(home.path(), &mut spool);
    let content = b"{\"slug\":\"stop\",\"bytes\":2}\n{}";
    let [first, second] = spool.places().try_into().unwrap();
    for (place, stamps) in [(&first, [10, 40, 50]), (&second, [20, 30, 60])] {
        for stamp in stamps {
            let name = Name { stamp, random: 7, size: content.len() as u64 };
            place.append(name, content, Durability::Crash).unwrap();
        }
    }
    let pending = spool.pending_by_place();
    assert_eq!(pending.iter().map(|(_, pending)| pending.count).collect::<Vec<_>>(), [3, 3]);
    let batch = spool.read_batch(4);
    assert_eq!(stamps(&batch), [10, 20, 30, 40]);
    batch.iter().for_each(|record| spool.remove(record).unwrap());
    assert_eq!(spool.pending().count, 2);
    let batch = spool.read_batch(4);
    assert_eq!(stamps(&batch), [50, 60]);
    batch.iter().for_each(|record| spool.reject(record));
    assert_eq!(spool.pending().bad, 2);
    assert!(second.dir.join("bad").exists());
}

#[cfg(unix)]
#[test]
fn a_second_place_that_others_may_have_made_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let set_mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    type Plant = fn(&Path, &dyn Fn(&Path, u32));
    let plants: [(&str, Plant, bool); 7] = [
        ("nothing is there yet", |_, _| {}, true),
        ("ours", |run, _| files::private_dir(&run.join("headspace/spool/x")).unwrap(), true),
        ("others may write to the first", |run, set_mode| set_mode(run, 0o777), false),
        ("the group may", |run, set_mode| set_mode(run, 0o770), false),
        ("a link", |run, _| symlink("/tmp", run.join("headspace")).unwrap(), false),
        ("a file", |run, _| fs::write(run.join("headspace"), "").unwrap(), false),
        (
            "others may write further down",
            |run, set_mode| {
                files::private_dir(&run.join("headspace/spool/x")).unwrap();
                set_mode(&run.join("headspace/spool"), 0o777);
            },
            false,
        ),
    ];
    for (what, plant, is_used) in plants {
        let (home, mut spool) = spool(100, 1 << 20);
        let runtime = with_second_place(home.path(), &mut spool);
        plant(&runtime, &set_mode);
        assert_eq!(spool.places().len() == 2, is_used, "{what}");
        assert_eq!(spool.distrusted().is_empty(), is_used, "{what}");
    }
    let (home, mut spool) = spool(100, 1 << 20);
    fs::remove_dir(with_second_place(home.path(), &mut spool)).unwrap();
    assert!(spool.places().len() == 1 && spool.distrusted().is_empty(), "nobody made it");
}
