//! What was probably meant by a name that does not exist.

/// The candidate that was probably meant: at most two letters differ, or only the case and `-_ `.
pub fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let squeezed = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = squeezed(word);
    candidates
        .map(|candidate| (distance(&word, &squeezed(candidate)), candidate))
        .filter(|(distance, _)| *distance <= 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The longest candidate that contains the word or is contained in it: `OnStop`, `AgentStop`, `Submit`.
pub(super) fn named_within<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase().replace(['-', '_', ' '], "");
    let near = |candidate: &&str| {
        let candidate = candidate.to_lowercase();
        word.contains(&candidate) || word.len() >= 6 && candidate.contains(&word)
    };
    candidates.filter(near).max_by_key(|candidate| candidate.len())
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
