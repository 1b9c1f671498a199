//! The settings merge as a function of text: what it adds, what it leaves, that it can be undone.
#![allow(clippy::unwrap_used)]

use headspace_core::model::event_names::EVENTS;
use headspace_hooks::client_settings::document::SettingsDocument;
use headspace_hooks::client_settings::entry::{Call, Entry, Role};
use headspace_hooks::client_settings::merge::{Desired, Event, Merged, Notify, Plan, find, merge};
use headspace_test_support::each_row;
use proptest::prelude::*;

const BIN: &str = "/opt/hs/headspace";

fn plan_for(events: &[&str], program: &str) -> Plan {
    let events =
        events.iter().map(|name| Event { name: (*name).to_owned(), matcher: None, entry: None }).collect();
    let entry = Entry::new(Call::exec(program, Role::Notify));
    Plan {
        wait: Desired::Leave,
        program: Some(program.to_owned()),
        notify: Desired::Put(Notify { events, entry }),
        guard: Desired::Leave,
        status_line: Desired::Leave,
    }
}

fn all() -> Plan {
    plan_for(&EVENTS.iter().filter(|e| e.subscribed).map(|e| e.name).collect::<Vec<_>>(), BIN)
}

fn put(text: &str, plan: &Plan) -> Merged {
    merge(text, plan, None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn taken_out(text: &str, pristine: Option<&str>) -> String {
    merge(text, &Plan::nothing(Some(BIN.into())), pristine).unwrap_or_else(|e| panic!("{e}\n{text}")).text
}

const OURS: &str = r#"{ "hooks": [{ "type": "command", "command": "/opt/hs/headspace", "args": ["notify"], "timeout": 5 }] }"#;
const TIGHT: &str =
    r#"{"hooks":[{"type":"command","command":"/opt/hs/headspace","args":["notify"],"timeout":5}]}"#;

/// What is added to files of every style; removing it restores the file.
#[test]
fn entries_follow_the_style_of_the_file_and_can_be_removed() {
    let cases: &[(&str, &str)] = &[
        ("{}", "{\n  \"hooks\": {\n    \"Stop\": [@]\n  }\n}"),
        ("{}\n", "{\n  \"hooks\": {\n    \"Stop\": [@]\n  }\n}\n"),
        ("{\"a\":1}", "{\"a\":1,\"hooks\":{\"Stop\":[%]}}"),
        ("{\"a\": 1}", "{\"a\": 1, \"hooks\": {\"Stop\": [@]}}"),
        ("{ \"a\": 1 }\n", "{ \"a\": 1, \"hooks\": {\"Stop\": [@]} }\n"),
        ("{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"Stop\": [@]\n\t}\n}\n"),
        ("{\r\n  \"a\": 1\r\n}", "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": [@]\r\n  }\r\n}"),
        ("{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"Stop\": [@]\n  }\n}"),
        ("{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"Stop\": [@]\n  },\n}"),
        ("{\"a\": 1 /* one */}", "{\"a\": 1, /* one */ \"hooks\": {\"Stop\": [@]}}"),
        ("\u{feff}{\"a\":1}", "\u{feff}{\"a\":1,\"hooks\":{\"Stop\":[%]}}"),
        // beside what stands there
        (
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []}\n    ]\n  }\n}",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []},\n      @\n    ]\n  }\n}",
        ),
        (
            "{\n  \"hooks\": {\n    \"Stop\": [{\n      \"hooks\": []\n    }]\n  }\n}",
            "{\n  \"hooks\": {\n    \"Stop\": [{\n      \"hooks\": []\n    }, @]\n  }\n}",
        ),
        ("{\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}", "{\"hooks\":{\"Stop\":[{\"hooks\":[]},%]}}"),
        (
            "{\n  \"hooks\": {\n    // none yet\n    \"Setup\": [] // later\n  }\n}",
            "{\n  \"hooks\": {\n    // none yet\n    \"Setup\": [], // later\n    \"Stop\": [@]\n  }\n}",
        ),
    ];
    let plan = plan_for(&["Stop"], BIN);
    each_row(
        cases,
        |(before, _)| format!("{before:?}"),
        |(before, after)| {
            let after = after.replace('@', OURS).replace('%', TIGHT);
            let merged = put(before, &plan);
            assert_eq!(merged.text, after);
            assert_eq!(merged.added, ["Stop"]);
            assert_eq!(taken_out(&merged.text, None), *before, "after removal");
        },
    );
}

/// An empty list cannot be told from one that install made, so the original file decides.
#[test]
fn lists_that_were_empty_stay_if_the_original_file_is_known() {
    let plan = plan_for(&["Stop"], BIN);
    each_row(
        [
            "{\"hooks\":{}}",
            "{\n  \"hooks\": {},\n  \"a\": 1\n}",
            "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}",
        ],
        |before| format!("{before:?}"),
        |before| {
            let merged = put(before, &plan);
            assert_eq!(taken_out(&merged.text, Some(before)), before);
            let edited = merged.text.replacen('{', "{\"x\": 1,", 1);
            assert_eq!(taken_out(&edited, Some(before)), before.replacen('{', "{\"x\": 1,", 1));
        },
    );
}

/// A list with a comment in it cannot be ours alone, whether or not the original file is known.
#[test]
fn lists_with_a_comment_of_the_users_stay() {
    let plan = plan_for(&["Stop"], BIN);
    each_row(
        [
            "{\"hooks\":{ /* none yet */}}",
            "{\"hooks\":{\"Stop\":[ /* none yet */]}}",
            "{\n  \"hooks\": {\n    // later\n  }\n}\n",
            "{\n  \"hooks\": {\n    \"Stop\": [ // later\n    ]\n  }\n}\n",
        ],
        |before| format!("{before:?}"),
        |before| assert_eq!(taken_out(&put(before, &plan).text, None), before),
    );
}

#[test]
fn a_blank_file_becomes_an_object() {
    let plan = plan_for(&["Stop"], BIN);
    let object = format!("{{\n  \"hooks\": {{\n    \"Stop\": [{OURS}]\n  }}\n}}\n");
    let cases = [
        ("", ""),
        ("\n", "\n"),
        ("// mine", "// mine\n"),
        ("// mine\n", "// mine\n"),
        ("/* x */", "/* x */\n"),
    ];
    for (before, lead) in cases {
        assert_eq!(put(before, &plan).text, format!("{lead}{object}"));
    }
}

#[test]
fn a_moved_binary_is_updated_in_place_and_the_users_edits_are_kept() {
    let before = r#"{"hooks":{"Stop":[{"hooks":[{"command":"/old/headspace","type":"command","args":["notify"],"timeout":9,"statusMessage":"x"},{"type":"command","command":"echo mine"}]}]}}"#;
    let merged = put(before, &plan_for(&["Stop"], BIN));
    assert_eq!(merged.text, before.replace("/old/headspace", BIN));
    assert_eq!((merged.updated, merged.added, merged.foreign), (vec!["Stop".to_owned()], vec![], 1));
}

#[test]
fn older_forms_of_our_entry_are_rewritten() {
    for command in ["'/old place/headspace' notify", "~/.claude/hooks/notify-headspace.sh stop"] {
        let before = format!(
            "{{\n  \"hooks\": {{\n    \"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{command}\"}}]}}]\n  }}\n}}"
        );
        let merged = put(&before, &plan_for(&["Stop"], BIN));
        let entry =
            r#"{ "type": "command", "command": "/opt/hs/headspace", "args": ["notify"], "timeout": 5 }"#;
        assert_eq!(
            merged.text,
            format!("{{\n  \"hooks\": {{\n    \"Stop\": [{{\"hooks\": [{entry}]}}]\n  }}\n}}")
        );
    }
}

#[test]
fn duplicates_and_unwanted_events_are_removed() {
    let ours = r#"{"type":"command","command":"/opt/hs/headspace","args":["notify"],"timeout":5}"#;
    let before = format!(
        r#"{{"hooks":{{"Stop":[{{"hooks":[{ours},{{"type":"command","command":"a"}},{ours}]}},{{"hooks":[{ours}]}}],"WorktreeCreate":[{{"hooks":[{ours}]}}],"Setup":[{{"matcher":"init","hooks":[{ours}]}}]}}}}"#
    );
    let merged = put(&before, &plan_for(&["Stop", "Setup"], BIN));
    assert_eq!(
        merged.text,
        format!(
            r#"{{"hooks":{{"Stop":[{{"hooks":[{ours},{{"type":"command","command":"a"}}]}}],"Setup":[{{"hooks":[{ours}]}}]}}}}"#
        )
    );
    assert_eq!(merged.removed, ["Stop", "WorktreeCreate", "Setup"]);
}

#[test]
fn hooks_the_user_added_to_our_group_stay() {
    let installed = put("{}", &plan_for(&["Stop"], BIN)).text;
    let edited = installed.replace("5 }]", "5 }, { \"type\": \"command\", \"command\": \"echo mine\" }]");
    assert_eq!(
        taken_out(&edited, Some("{}")),
        "{\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"echo mine\" }] }]\n  }\n}"
    );
}

#[test]
fn a_file_of_the_wrong_shape_is_refused_with_line_and_column() {
    let cases = [
        ("{\"hooks\": []}", "1:11: \"hooks\" must be an object"),
        ("{\"hooks\": null}", "1:11: \"hooks\" must be an object"),
        ("{\n  \"hooks\": {\"Stop\": {}}}", "2:21: \"hooks.Stop\" must be an array"),
        ("{\"hooks\": {\"WorktreeCreate\": \"x\"}}", "1:30: \"hooks.WorktreeCreate\" must be an array"),
        ("\u{feff}[]", "1:1: the file must hold an object"),
    ];
    for (text, message) in cases {
        assert_eq!(merge(text, &all(), None).unwrap_err().to_string(), message, "{text}");
        assert!(merge(text, &Plan::nothing(None), None).is_err());
    }
    // An entry under a name that is not an event is left alone.
    assert!(merge("{\"hooks\": {\"_note\": \"mine\"}}", &all(), None).is_ok());
}

#[test]
fn a_file_that_the_client_would_ignore_gets_a_warning() {
    let text = "{\n  // mine\n  \"disableAllHooks\": true,\n  \"hooks\": {\"PreToolUse\": [{\"type\": \"command\"}]}\n}";
    let told: Vec<String> = put(text, &all()).warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("2:3: ") && told[0].contains("comments"), "{told:?}");
    assert!(told[1].starts_with("3:3: ") && told[1].contains("disableAllHooks"), "{told:?}");
    assert!(told[2].starts_with("4:28: ") && told[2].contains("whole file"), "{told:?}");
}

#[test]
fn the_guard_has_an_entry_of_its_own() {
    let guard = Entry { on_failure: Some("block".into()), ..Entry::new(Call::exec(BIN, Role::Guard)) };
    let with = Plan { guard: Desired::Put(guard.clone()), ..plan_for(&["PreToolUse", "Stop"], BIN) };
    let merged = put("{}", &with);
    let roles: Vec<_> = find(&merged.text, None).unwrap().into_iter().map(|f| (f.event, f.role)).collect();
    let expected = [("PreToolUse", Role::Notify), ("PreToolUse", Role::Guard), ("Stop", Role::Notify)];
    assert_eq!(roles, expected.map(|(e, r)| (e.to_owned(), r)));
    assert!(merged.text.contains(r#""args": ["guard", "hook"], "timeout": 5, "onFailure": "block""#));
    assert_eq!(put(&merged.text, &with).text, merged.text);
    // Without the flag it is brought up to date, not added and not removed.
    let later = Plan {
        guard: Desired::Refresh(Entry::new(Call::exec("/new/headspace", Role::Guard))),
        ..plan_for(&["PreToolUse", "Stop"], "/new/headspace")
    };
    assert_eq!(put(&merged.text, &later).text, merged.text.replace(BIN, "/new/headspace"));
    assert!(!put("{}", &later).text.contains("guard"));
    // It can be removed alone.
    let without = Plan { notify: Desired::Leave, guard: Desired::Remove, ..later };
    assert_eq!(put(&merged.text, &without).text, put("{}", &plan_for(&["PreToolUse", "Stop"], BIN)).text);
}

#[test]
fn the_status_line_is_wrapped_and_restored_exactly() {
    let with = Plan { status_line: Desired::Put(BIN.into()), ..plan_for(&["Stop"], BIN) };
    let before = "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"~/l\\u00efne.sh | cat\", \"padding\": 0}\n}\n";
    let merged = put(before, &with);
    assert!(
        merged.text.contains(r#""/opt/hs/headspace statusline -- '~/lïne.sh | cat'""#),
        "{}",
        merged.text
    );
    assert!(merged.status_line_changed);
    assert_eq!(put(&merged.text, &with).text, merged.text);
    assert_eq!(taken_out(&merged.text, Some(before)), before);
    assert_eq!(taken_out(&merged.text, None), before.replace("\\u00ef", "ï"));

    let none = put("{\n  \"a\": 1\n}", &with);
    assert!(none.text.contains(
        "\"statusLine\": { \"type\": \"command\", \"command\": \"/opt/hs/headspace statusline\" }"
    ));
    assert_eq!(taken_out(&none.text, None), "{\n  \"a\": 1\n}");

    let odd = put("{\"statusLine\":\"x\"}", &with);
    assert!(odd.text.starts_with("{\"statusLine\":\"x\",") && odd.warnings.len() == 1);
}

/// JSON with comments, commas, blanks and brackets in every style.
fn settings() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just(" /* c */ ".to_owned()),
        1 => Just(" // c\n ".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-0.5e3".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        "\"[a-z é\\{\\}\\[\\],:/]{0,6}\"",
        Just("\"\\\"\\u00e9\\\\\"".to_owned()),
    ];
    let value = leaf.prop_recursive(3, 24, 4, {
        let blank = blank.clone();
        move |inner| {
            prop_oneof![
                (prop::collection::vec(inner.clone(), 0..4), blank.clone(), any::<bool>())
                    .prop_map(|(items, blank, comma)| list('[', ']', &items, &blank, comma)),
                (prop::collection::vec(inner, 0..4), blank.clone(), any::<bool>()).prop_map(
                    |(items, blank, comma)| {
                        let members: Vec<_> =
                            items.iter().enumerate().map(|(i, v)| format!("\"k{i}\":{blank}{v}")).collect();
                        list('{', '}', &members, &blank, comma)
                    }
                ),
            ]
        }
    });
    let entry = prop_oneof![
        Just("{\"type\":\"command\",\"command\":\"echo headspace notify\"}".to_owned()),
        Just("{ \"type\": \"http\", \"url\": \"http://h/headspace\" }".to_owned()),
        Just("7".to_owned()),
    ];
    let group = (prop::collection::vec(entry, 0..3), blank.clone(), any::<bool>()).prop_map(
        |(entries, blank, comma)| {
            let hooks = list('[', ']', &entries, &blank, comma);
            list(
                '{',
                '}',
                &["\"matcher\":\"Bash\"".to_owned(), format!("\"hooks\":{blank}{hooks}")],
                &blank,
                comma,
            )
        },
    );
    let names = prop::sample::subsequence(
        vec!["Stop", "PreToolUse", "Notification", "WorktreeCreate", "_note"],
        0..5,
    );
    let hooks =
        (names, prop::collection::vec((prop::collection::vec(group, 0..3), any::<bool>()), 5), blank.clone())
            .prop_map(|(names, groups, blank)| {
                let members: Vec<_> = names
                    .iter()
                    .zip(&groups)
                    .map(|(name, (groups, comma))| {
                        format!("\"{name}\":{blank}{}", list('[', ']', groups, &blank, *comma))
                    })
                    .collect();
                list('{', '}', &members, &blank, groups.first().is_some_and(|g| g.1))
            });
    let members = prop::collection::vec(value, 0..4);
    (members, prop::option::of((hooks, 0usize..4)), blank.clone(), blank, any::<bool>(), any::<bool>())
        .prop_map(|(values, hooks, inside, around, comma, bom)| {
            let mut members: Vec<_> =
                values.iter().enumerate().map(|(i, v)| format!("\"m{i}\":{inside}{v}")).collect();
            if let Some((hooks, at)) = hooks {
                members.insert(at.min(members.len()), format!("\"hooks\":{inside}{hooks}"));
            }
            let bom = if bom { "\u{feff}" } else { "" };
            format!("{bom}{around}{}{around}", list('{', '}', &members, &inside, comma))
        })
}

fn list(open: char, close: char, items: &[String], blank: &str, trailing: bool) -> String {
    let comma = if trailing && !items.is_empty() { "," } else { "" };
    let body = items.join(&format!("{blank},{blank}"));
    format!("{open}{blank}{body}{comma}{blank}{close}")
}

fn value_of(text: &str) -> serde_json::Value {
    let strict = headspace_platform::config::strict_json(text);
    serde_json::from_str(&strict).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Install fills `"hooks": {}`, `"Stop": []` and `{ }`; without the original file nothing shows later
/// whether they were there before.
fn fills_an_empty_list(text: &str) -> bool {
    let value = value_of(text);
    let hooks = value.get("hooks");
    let empty = |v: &serde_json::Value| {
        v.as_object().map_or(v.as_array().is_some_and(|a| a.is_empty()), |o| o.is_empty())
    };
    empty(&value)
        || hooks.is_some_and(|hooks| empty(hooks) || hooks.as_object().is_some_and(|h| h.values().any(empty)))
}

#[test]
fn what_was_empty_is_as_it_was_after_another_edit() {
    for original in [
        "{\r\n \"a\":1,\n \"hooks\":{ \"Stop\" : [ ] , }\r\n}",
        "{\"a\":1,\"hooks\":{ /* mine */ }}",
        "{\"a\":1, \"hooks\": { }}",
        "{\n  \"a\": 1,\n  \"hooks\": {\n\n    // mine\n  }\n}\n",
        "{\n  \"a\": 1,\n  \"hooks\": {\"Stop\": [\n    ],\n \"PreToolUse\": [ /* a */  /* b */ ]}\n}\n",
    ] {
        let edited = |text: &str| text.replacen('1', "2", 1);
        let installed = put(original, &all()).text;
        assert_eq!(taken_out(&edited(&installed), Some(original)), edited(original), "{installed}");
        let with_comment = installed.replacen("/* mine */", "/* mine */ /* more */", 1);
        let back = taken_out(&with_comment, Some(original));
        assert!(!with_comment.contains("more") || back.contains("/* mine */ /* more */"), "{back}");
    }
    for original in ["{ }", "{\n\n}\n", "// mine\n{ }\n"] {
        assert_eq!(taken_out(&put(original, &all()).text, Some(original)), original);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn install_then_uninstall_is_the_identity(text in settings()) {
        let plan = all();
        let merged = put(&text, &plan);
        let plain = merged.text.strip_prefix('\u{feff}').unwrap_or(&merged.text);
        prop_assert!(SettingsDocument::parse(plain).is_ok());
        let found = find(&merged.text, None).unwrap();
        prop_assert_eq!(found.len(), 28);
        prop_assert_eq!(&put(&merged.text, &plan).text, &merged.text, "a second install changes nothing");

        let back = taken_out(&merged.text, Some(&text));
        prop_assert_eq!(value_of(&back), value_of(&text));
        if !fills_an_empty_list(&text) {
            prop_assert_eq!(&back, &text);
            prop_assert_eq!(&taken_out(&merged.text, None), &text, "also when the file as it was is lost");
        }
    }

    #[test]
    fn no_byte_of_the_users_text_is_changed(text in settings()) {
        let merged = put(&text, &all()).text;
        let mut rest = merged.chars();
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            prop_assert!(rest.any(|m| m == c), "lost {:?}\n{}\n{}", c, text, merged);
        }
    }

    #[test]
    fn any_text_is_merged_or_refused(text in "[\\{\\}\\[\\]\",:/*\\\\a \n\t0-9.eu-]{0,40}") {
        if let Ok(merged) = merge(&text, &all(), None) {
            prop_assert_eq!(find(&merged.text, None).unwrap().len(), 28);
        }
    }
}

#[test]
fn the_entry_that_waits_comes_and_goes_without_a_trace() {
    let entry = Entry::wait(Call::exec(BIN, Role::Wait));
    for original in [
        "{\n  \"model\": \"opus\"\n}\n",
        "{\r\n    \"env\": {}\r\n}\r\n",
        "{\n\t\"hooks\": {\n\t\t\"PermissionRequest\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"echo wait\"}]}\n\t\t]\n\t}\n}",
    ] {
        let installed = merge(original, &plan_for(&["PermissionRequest", "Stop"], BIN), None).unwrap().text;
        let on = Plan { wait: Desired::Put(entry.clone()), ..Plan::as_it_is(Some(BIN.into())) };
        let with = merge(&installed, &on, Some(original)).unwrap();
        assert!(with.wait_changed && with.text.contains("43200"), "{}", with.text);
        assert_eq!(merge(&with.text, &on, Some(original)).unwrap().text, with.text, "twice is once");
        let waits = find(&with.text, None).unwrap().into_iter().filter(|one| one.role == Role::Wait).count();
        assert_eq!(waits, 1);
        let off = Plan { wait: Desired::Remove, ..Plan::as_it_is(Some(BIN.into())) };
        assert_eq!(merge(&with.text, &off, Some(original)).unwrap().text, installed);
        let nothing = Plan::nothing(Some(BIN.into()));
        assert_eq!(merge(&with.text, &nothing, Some(original)).unwrap().text, original);
    }
}
