//! Parts of a value: some of its letters, or some of its items.

/// `${x:from}`, `${x:from:length}`; negative numbers count from the end.
pub fn slice(value: &str, numbers: &str) -> Option<String> {
    let mut numbers = numbers.splitn(2, ':').map(|number| number.trim().parse::<i64>().ok());
    let chars: Vec<char> = value.chars().collect();
    let length = chars.len() as i64;
    let from = numbers.next()??;
    let from = if from < 0 { (length + from).max(0) } else { from.min(length) };
    let to = match numbers.next() {
        None => length,
        Some(count) => {
            let count = count?;
            if count < 0 { length + count } else { from.saturating_add(count).min(length) }
        }
    };
    Some(chars.get(from as usize..to.max(from) as usize)?.iter().collect())
}

/// The items that `offset` or `offset:length` stands for; all of them if nobody knows the numbers.
pub fn items_from(items: Vec<String>, first: usize, numbers: &str) -> Vec<String> {
    let (offset, length) = match numbers.split_once(':') {
        Some((offset, length)) => (offset, Some(length)),
        None => (numbers, None),
    };
    let Ok(offset) = offset.trim().parse::<i64>() else { return items };
    let skip = if offset < 0 {
        items.len().saturating_sub(offset.unsigned_abs() as usize)
    } else {
        (offset as usize).saturating_sub(first)
    };
    let take = match length.map(|length| length.trim().parse::<usize>()) {
        None => usize::MAX,
        Some(Ok(length)) => length,
        Some(Err(_)) => return items,
    };
    items.into_iter().skip(skip).take(take).collect()
}
