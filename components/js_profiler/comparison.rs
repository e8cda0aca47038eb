/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Compares the two walkers, by taking each sample with both: the stock one is the oracle for the other.
//!
//! What is compared are the functions of scripts from the root to the leaf: the stock walker knows no
//! built-ins that are not scripts, and no WebAssembly.

use std::collections::BTreeMap;

use log::debug;

use crate::spidermonkey::{FrameKind, FunctionKey, SampledContext, StackBuffer, WalkOutcome};
use crate::stop::Stopped;

/// How the stack of the table walker differs from that of the stock walker.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Difference {
    /// They are the same.
    None,
    /// Both cannot walk: garbage is collected, or the engine changes its tables.
    NeitherWalked,
    /// The stock walker must not be asked while an exception leaves frames: what it goes by is put right when all of
    /// them have been left.
    OnlyTableWalked,
    /// In the stub by which profiled functions return, which has no frame.
    OnlyStockWalked,
    /// The stock walker is told of a function at the end of its prologue, and of its return before its
    /// epilogue; of frames that a bailout makes, after that; and not of a function that is being compiled or that waits
    /// for a regular expression.
    StockLacksLeaf,
    /// The same, where the stack without the frames that the stock walker has been told an exception
    /// leaves is short, and with them so deep that it was cut: what they share is beyond the cut.
    StockLacksDeepLeaf,
    /// In a stub that it is not told of, such as one that matches a regular expression, the stock
    /// walker goes by the last call it was told of, and takes what was inlined there for running. It takes a generator
    /// for running while the frame of that is being made.
    TableLacksLeaf,
    /// The stock walker loses older frames where JIT code was entered in a way it is not told of.
    StockLacksOthers,
    TableLacksOthers,
    /// The same but for the function at the leaf.
    OtherLeaf,
    Other,
}

pub struct Comparison {
    stock: StackBuffer,
    stock_walk: WalkOutcome,
    counts: BTreeMap<Difference, u64>,
}

impl Comparison {
    /// For a context that is in both modes.
    pub fn wanted(context: &SampledContext) -> Option<Self> {
        context.walks_both_ways().then(|| Self {
            stock: StackBuffer::new(),
            stock_walk: WalkOutcome::Idle,
            counts: BTreeMap::new(),
        })
    }

    /// Walks the stack of a stopped thread by the stock walker.
    pub fn walk(&mut self, context: &SampledContext, stopped: &Stopped) {
        self.stock.clear();
        self.stock_walk = context.walk_stock(stopped, &mut self.stock);
    }

    /// Compares what the table walker found of the same stack.
    pub fn compare(&mut self, walk: WalkOutcome, stack: &StackBuffer) {
        let difference = match (walk, self.stock_walk) {
            (WalkOutcome::Stack, WalkOutcome::Stack)
                if stack.truncated() && !self.stock.truncated() =>
            {
                Difference::StockLacksDeepLeaf
            },
            (WalkOutcome::Stack, WalkOutcome::Stack) => {
                difference(&scripts(stack), &scripts(&self.stock))
            },
            (WalkOutcome::Stack, _) => Difference::OnlyTableWalked,
            (_, WalkOutcome::Stack) => Difference::OnlyStockWalked,
            _ => Difference::NeitherWalked,
        };
        *self.counts.entry(difference).or_default() += 1;
        if let Difference::TableLacksOthers | Difference::OtherLeaf | Difference::Other = difference
        {
            debug!(
                "{difference:?}: table {}; stock {}",
                leaves(stack),
                leaves(&self.stock)
            );
        }
    }

    /// How often each difference was found since the last call.
    pub fn take(&mut self) -> BTreeMap<Difference, u64> {
        std::mem::take(&mut self.counts)
    }
}

fn scripts(stack: &StackBuffer) -> Vec<FunctionKey> {
    stack
        .frames()
        .filter(|frame| matches!(frame.kind(), FrameKind::Script | FrameKind::SelfHosted))
        .map(|frame| frame.key())
        .collect()
}

/// The frames at the leaf of a stack, for the log.
fn leaves(stack: &StackBuffer) -> String {
    const SHOWN: usize = 16;
    let frames: Vec<_> = stack.frames().collect();
    let shown = &frames[frames.len().saturating_sub(SHOWN)..];
    let text = shown.iter().map(|frame| {
        let (line, column) = frame.position().unwrap_or_default();
        format!("{}:{line}:{column}", frame.name())
    });
    format!(
        "{} frames, … {}",
        frames.len(),
        text.collect::<Vec<_>>().join(" > ")
    )
}

fn difference<T: PartialEq>(table: &[T], stock: &[T]) -> Difference {
    if table == stock {
        Difference::None
    } else if table.starts_with(stock) {
        Difference::StockLacksLeaf
    } else if stock.starts_with(table) {
        Difference::TableLacksLeaf
    } else if is_subsequence(stock, table) {
        Difference::StockLacksOthers
    } else if is_subsequence(table, stock) {
        Difference::TableLacksOthers
    } else if let ([table @ .., _], [stock @ .., _]) = (table, stock)
        && table == stock
    {
        Difference::OtherLeaf
    } else {
        Difference::Other
    }
}

/// Whether `part` is `whole` with some elements left out.
fn is_subsequence<T: PartialEq>(part: &[T], whole: &[T]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|wanted| whole.any(|found| found == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_apart() {
        use Difference as D;
        for (table, stock, expected) in [
            ("abc", "abc", D::None),
            ("", "", D::None),
            ("abc", "ab", D::StockLacksLeaf),
            ("abc", "", D::StockLacksLeaf),
            ("ab", "abc", D::TableLacksLeaf),
            ("abc", "bc", D::StockLacksOthers),
            ("abcd", "ac", D::StockLacksOthers),
            ("bc", "abc", D::TableLacksOthers),
            ("abc", "abd", D::OtherLeaf),
            ("abc", "xbd", D::Other),
        ] {
            let found = difference(table.as_bytes(), stock.as_bytes());
            assert_eq!(found, expected, "{table} and {stock}");
        }
    }
}
