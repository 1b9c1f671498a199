use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Checks every row of a table, also those behind a row that fails, and lists all that failed by `name`.
pub fn each_row<R>(rows: impl IntoIterator<Item = R>, name: impl Fn(&R) -> String, mut check: impl FnMut(R)) {
    let (mut count, mut failed) = (0, Vec::new());
    for row in rows {
        count += 1;
        let name = name(&row);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(row))) {
            failed.push(format!("{name}: {}", message(panic.as_ref())));
        }
    }
    assert!(count > 0, "the table is empty");
    assert!(failed.is_empty(), "{} of {count} rows failed\n{}", failed.len(), failed.join("\n"));
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}

#[cfg(test)]
mod tests {
    use super::each_row;

    #[test]
    fn every_failing_row_is_named() {
        let table = std::panic::catch_unwind(|| {
            each_row([1, 2, 3, 4], |n| format!("row {n}"), |n| assert!(n % 2 == 0, "{n} is odd"));
        });
        let said = *table.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(said, "2 of 4 rows failed\nrow 1: 1 is odd\nrow 3: 3 is odd");
    }

    #[test]
    #[should_panic(expected = "the table is empty")]
    fn an_empty_table_is_a_failure() {
        each_row(Vec::<u8>::new(), u8::to_string, |_| {});
    }
}
