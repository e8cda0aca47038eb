/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much means over sessions vary: sessions are drawn again and again, with replacement, and the means of those that were
//! drawn are compared with those of all. All functions are drawn together, so that what they have in common is kept.

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        next ^ (next >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// What simulations draw.
#[cfg(test)]
impl Random {
    /// Between 0 and 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// With a mean of 0 and a deviation of 1. <https://en.wikipedia.org/wiki/Box–Muller_transform>
    pub fn normal(&mut self) -> f64 {
        let (one, other) = (self.uniform().max(1e-300), self.uniform());
        (-2. * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// A number of events, of which so many are expected.
    pub fn poisson(&mut self, expected: f64) -> u64 {
        if expected > 30. {
            // Nearly the same, and without a loop.
            return (expected + expected.sqrt() * self.normal()).round().max(0.) as u64;
        }
        let end = (-expected).exp();
        let mut product = self.uniform();
        let mut count = 0;
        while product > end {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

/// Values of sessions, in rows of the same length.
#[derive(Clone, Debug)]
pub struct Rows {
    values: Vec<f32>,
    width: usize,
}

impl Rows {
    /// Each row has at least one value.
    pub fn new(width: usize) -> Self {
        Self {
            values: Vec::new(),
            width,
        }
    }

    pub fn push(&mut self, row: &[f32]) {
        debug_assert_eq!(row.len(), self.width);
        self.values.extend_from_slice(row);
    }

    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..][..self.width]
    }

    /// The means of all.
    pub fn means(&self) -> Vec<f64> {
        let mut sums = vec![0.; self.width];
        for index in 0..self.len() {
            for (sum, value) in sums.iter_mut().zip(self.row(index)) {
                *sum += f64::from(*value);
            }
        }
        let count = self.len().max(1) as f64;
        sums.iter().map(|sum| sum / count).collect()
    }

    /// The means of as many, drawn with replacement.
    pub fn means_of_drawn(&self, random: &mut Random) -> Vec<f64> {
        let count = self.len();
        // A third of the rows is not drawn, and rows in their order are read at once.
        let mut drawn = vec![0_u16; count];
        for _ in 0..count {
            let times = &mut drawn[random.below(count)];
            *times = times.saturating_add(1);
        }
        let mut sums = vec![0_f32; self.width];
        for (index, times) in drawn
            .into_iter()
            .enumerate()
            .filter(|(_, times)| *times > 0)
        {
            let times = f32::from(times);
            for (sum, value) in sums.iter_mut().zip(self.row(index)) {
                *sum += times * value;
            }
        }
        let count = count as f64;
        sums.iter().map(|sum| f64::from(*sum) / count).collect()
    }
}

/// Several statistics, and what they are where sessions are drawn.
#[derive(Debug)]
pub struct Replicates {
    estimates: Vec<f64>,
    errors: Vec<f64>,
    /// By replicate, how far each statistic is from its estimate.
    differences: Vec<f32>,
}

impl Replicates {
    /// `estimates` are of all sessions. Drawing with replacement makes the spread too small by `correction`.
    pub fn new(estimates: Vec<f64>, replicates: &[Vec<f64>], correction: f64) -> Self {
        let count = replicates.len().max(1) as f64;
        let mut sums = vec![(0., 0.); estimates.len()];
        let mut differences = Vec::with_capacity(replicates.len() * estimates.len());
        for replicate in replicates {
            let pairs = replicate.iter().zip(&estimates);
            for ((value, estimate), (sum, squares)) in pairs.zip(&mut sums) {
                let difference = value - estimate;
                *sum += difference;
                *squares += difference * difference;
                differences.push(difference as f32);
            }
        }
        let errors = sums.iter().map(|(sum, squares)| {
            let mean: f64 = sum / count;
            (squares / count - mean * mean).max(0.).sqrt() * correction
        });
        Self {
            errors: errors.collect(),
            differences,
            estimates,
        }
    }

    pub fn estimate(&self, index: usize) -> f64 {
        self.estimates[index]
    }

    /// The standard error of a statistic.
    pub fn error(&self, index: usize) -> f64 {
        self.errors[index]
    }

    /// By how many standard errors, in 95 % of the replicates, none of some statistics leaves its estimate. At least `least`,
    /// which is that of one alone.
    pub fn simultaneous(&self, which: &[usize], least: f64) -> f64 {
        let rows = self.differences.chunks_exact(self.estimates.len().max(1));
        let mut greatest: Vec<f64> = rows
            .map(|row| {
                let of = which.iter().filter(|index| self.errors[**index] > 0.);
                let of = of.map(|index| f64::from(row[*index]).abs() / self.errors[*index]);
                of.fold(0., f64::max)
            })
            .collect();
        greatest.sort_by(f64::total_cmp);
        let rank = (greatest.len() * 95).div_ceil(100);
        let quantile = rank.checked_sub(1).map(|place| greatest[place]);
        quantile.unwrap_or_default().max(least)
    }
}

/// Quantiles of the normal distribution: an interval of 95 % ends at the first to each side, and 95 % are below the second.
pub const TWO_SIDED: f64 = 1.959_963_985;
pub const ONE_SIDED: f64 = 1.644_853_627;

/// The quantile of Student's t that belongs to one of the normal distribution: by how many standard errors an interval
/// extends. <https://en.wikipedia.org/wiki/Cornish–Fisher_expansion>
pub fn student(normal: f64, degrees: f64) -> f64 {
    let first = (normal.powi(3) + normal) / 4.;
    let second = (5. * normal.powi(5) + 16. * normal.powi(3) + 3. * normal) / 96.;
    let third =
        (3. * normal.powi(7) + 19. * normal.powi(5) + 17. * normal.powi(3) - 15. * normal) / 384.;
    normal + first / degrees + second / degrees.powi(2) + third / degrees.powi(3)
}

/// The degrees of freedom of a standard error: rows of both sides have one each beside the means, and that rows are drawn
/// only so often adds a noise of its own.
pub fn degrees(rows: [usize; 2], replicates: usize) -> f64 {
    let of_rows = (rows[0] + rows[1] - 2) as f64;
    let of_draws = replicates.saturating_sub(1).max(1) as f64;
    1. / (1. / of_rows + 1. / of_draws)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_students() {
        // From tables of the distribution.
        for (normal, degrees, expected) in [
            (TWO_SIDED, 8., 2.306),
            (TWO_SIDED, 30., 2.042),
            (TWO_SIDED, 998., 1.962),
            (ONE_SIDED, 8., 1.860),
            (ONE_SIDED, 30., 1.697),
        ] {
            let found = student(normal, degrees);
            assert!((found - expected).abs() < 0.002, "{degrees}: {found}");
        }
    }

    #[test]
    fn few_draws_take_degrees_of_freedom() {
        assert!((degrees([500, 500], 999) - 499.).abs() < 0.1);
        assert!(degrees([5, 5], 1_000) > 7.9);
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_its_formula() {
        let mut random = Random(1);
        let mut rows = Rows::new(1);
        let values: Vec<f32> = (0..200).map(|_| random.below(1_000) as f32).collect();
        for value in &values {
            rows.push(&[*value]);
        }
        let mean = rows.means()[0];
        let squares = values
            .iter()
            .map(|value| (f64::from(*value) - mean).powi(2));
        let expected = (squares.sum::<f64>() / 199. / 200.).sqrt();
        let replicates: Vec<_> = (0..4_000)
            .map(|_| rows.means_of_drawn(&mut random))
            .collect();
        let replicates = Replicates::new(vec![mean], &replicates, (200_f64 / 199.).sqrt());
        let ratio = replicates.error(0) / expected;
        assert!((0.96..1.04).contains(&ratio), "{ratio}");
    }
}
