/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Compares the two walkers by taking each sample with both. The stock walker is the oracle for the table
//! walker.
//!
//! Only the functions of scripts are compared, from the root to the leaf. The stock walker knows neither
//! WebAssembly nor built-ins that are not scripts.

use std::collections::BTreeMap;

use log::debug;

use crate::spidermonkey::{
    FrameKind, FunctionKey, NewFunction, SampledContext, StackBuffer, Unwinder, WalkOutcome,
    WalkedFrame, WalkedFunction,
};
use crate::stop::Stopped;

/// How the stack of the table walker differs from that of the stock walker.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Difference {
    /// The stacks are equal.
    None,
    /// Neither walker can walk, because the engine is collecting garbage or changing its tables.
    NeitherWalked,
    /// The stock walker must not be used while an exception leaves frames. The state that it reads is correct
    /// again only when all of these frames have been left.
    OnlyTableWalked,
    /// The thread is in the stub through which profiled functions return. The stub has no frame.
    OnlyStockWalked,
    /// The stock walker lacks functions at the leaf. It learns of a function at the end of the function's
    /// prologue, and of the function's return before the epilogue. It learns of the frames that a bailout makes
    /// only after they were made. It does not learn of a function that is being compiled, or that waits for a
    /// regular expression.
    StockLacksLeaf,
    /// Like `StockLacksLeaf`, but the frames that both stacks share are not among those that are compared. The
    /// stock walker leaves out frames as soon as it is told that an exception leaves them, so its stack is
    /// short. With these frames the stack is so deep that it was cut, and the frames that both stacks share are
    /// beyond the cut.
    StockLacksDeepLeaf,
    /// The table walker lacks functions at the leaf. Some stubs do not tell the stock walker that they run,
    /// such as one that matches a regular expression. There it relies on the last call that it knows of, and
    /// reports the functions that were inlined at that call as running. It also reports a generator as running
    /// while the generator's frame is being made.
    TableLacksLeaf,
    /// The stock walker lacks other functions. It loses older frames if JIT code was entered in a way that it
    /// does not know of.
    StockLacksOthers,
    /// The table walker lacks other functions. No reason for this is known, so the log shows the stacks.
    TableLacksOthers,
    /// The stacks differ only in the function at the leaf.
    OtherLeaf,
    /// Both stacks have functions that the other one lacks. No reason for this is known, so the log shows the stacks.
    Other,
}

/// The comparisons of one thread's walks.
pub struct Comparison {
    /// The stack that the stock walker has found.
    stock: StackBuffer,
    stock_walk: WalkOutcome,
    counts: BTreeMap<Difference, u64>,
}

impl Comparison {
    /// A comparison for this context; `None` unless its stack is walked by both walkers.
    pub fn wanted(context: &SampledContext) -> Option<Self> {
        context.walks_both_ways().then(|| Self {
            stock: StackBuffer::new(),
            stock_walk: WalkOutcome::Idle,
            counts: BTreeMap::new(),
        })
    }

    /// Walks the stack of a stopped thread with the stock walker.
    pub fn walk(&mut self, context: &SampledContext, stopped: &Stopped, unwinder: &mut Unwinder) {
        self.stock_walk = context.walk_stock(stopped, unwinder, &mut self.stock);
    }

    /// Compares that walk with the table walker's walk of the same stack.
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
        .filter_map(|frame| new_function(&frame))
        .map(|function| function.key())
        .filter(|key| matches!(key.kind, FrameKind::Script | FrameKind::SelfHosted))
        .collect()
}

/// The function of a frame. The compared walks know no functions.
fn new_function<'a>(frame: &WalkedFrame<'a>) -> Option<NewFunction<'a>> {
    match frame.function() {
        WalkedFunction::New(function) => Some(function),
        WalkedFunction::Known(_) => None,
    }
}

/// The frames at the leaf of a stack, for the log.
fn leaves(stack: &StackBuffer) -> String {
    const SHOWN: usize = 16;
    let frames: Vec<_> = stack.frames().collect();
    let shown = &frames[frames.len().saturating_sub(SHOWN)..];
    let text = shown.iter().filter_map(new_function).map(|function| {
        let (line, column) = function.position().unwrap_or_default();
        format!("{}:{line}:{column}", function.name())
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
