//! SHA-256, for the references of blobs in tests.

/// The digest of `content`, in hexadecimal.
pub(super) fn hex(content: &[u8]) -> String {
    let mut message = content.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((content.len() as u64 * 8).to_be_bytes());
    let round = constants(64, 3);
    let mut state: Vec<u32> = constants(8, 2);
    for block in message.chunks_exact(64) {
        let mut words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        for at in 16..64 {
            let (early, late) = (words[at - 15], words[at - 2]);
            let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
            let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
            let sum = words[at - 16].wrapping_add(early).wrapping_add(words[at - 7]);
            words.push(sum.wrapping_add(late));
        }
        let mut now = state.clone();
        for (word, constant) in words.iter().zip(&round) {
            let (a, e) = (now[0], now[4]);
            let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & now[5]) ^ (!e & now[6]);
            let one = now[7].wrapping_add(high).wrapping_add(choice);
            let one = one.wrapping_add(*constant).wrapping_add(*word);
            let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & now[1]) ^ (a & now[2]) ^ (now[1] & now[2]);
            now.rotate_right(1);
            now[4] = now[4].wrapping_add(one);
            now[0] = one.wrapping_add(low).wrapping_add(majority);
        }
        for (sum, word) in state.iter_mut().zip(now) {
            *sum = sum.wrapping_add(word);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// The first 32 bits of the fractional parts of the square roots (`root` 2) or cube roots (3) of the
/// first primes, in integer arithmetic.
fn constants(count: usize, root: u32) -> Vec<u32> {
    let is_prime = |number: &u128| (2..*number).all(|factor| !number.is_multiple_of(factor));
    let fraction = |prime: u128| {
        // The largest `x` with `x^root <= prime * 2^(32 * root)`.
        let (mut low, mut high) = (0_u128, prime << 32);
        let whole = prime << (32 * root);
        while low < high {
            let middle = (low + high).div_ceil(2);
            match middle.checked_pow(root).is_some_and(|power| power <= whole) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        low as u32
    };
    (2..).filter(is_prime).take(count).map(fraction).collect()
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn digests_are_those_of_the_standard() {
        for (content, digest) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(hex(content.as_bytes()), digest);
        }
    }
}
