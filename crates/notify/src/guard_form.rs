//! A verdict of the guard in the form that each client reads.

use headspace_clients::GuardForm;
use headspace_clients::guard::output;
use headspace_guard::{Verdict, hook_output};
use serde_json::Value;

/// How an answer looks, as a value and, for the worst case, as a line. Function pointers, because the line must be
/// there before anything can go wrong.
pub type Rendered = (fn(&Verdict) -> Option<Value>, fn(&Verdict) -> Option<String>);

pub fn rendered(form: GuardForm) -> Rendered {
    match form {
        GuardForm::Claude => (hook_output, |verdict| line(hook_output(verdict))),
        GuardForm::DenyOnly => (deny_only, |verdict| line(deny_only(verdict))),
        GuardForm::TopLevel => (top_level, |verdict| line(top_level(verdict))),
        GuardForm::None => (|_| None, |_| None),
    }
}

fn deny_only(verdict: &Verdict) -> Option<Value> {
    output(GuardForm::DenyOnly, hook_output(verdict)?)
}

fn top_level(verdict: &Verdict) -> Option<Value> {
    output(GuardForm::TopLevel, hook_output(verdict)?)
}

fn line(value: Option<Value>) -> Option<String> {
    Some(format!("{}\n", value?))
}
