/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Names in a profile are a stranger's. Whatever they are, the Markdown of a report has the same parts.

mod random_recording;

use profile_formats::{
    By, EventLoop, Frame, MAX_MARKDOWN_CHARACTERS, Recording, StackId, markdown_report,
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::random_recording::random::Random;

/// What begins or ends something in Markdown, in one of its dialects or in HTML.
const PIECES: [&str; 44] = [
    "`",
    "``",
    "```",
    "~~~",
    "|",
    "\\|",
    "\\",
    "\n",
    "\r",
    "\n\n",
    "\n```\n",
    "[a](https://a.test/)",
    "![a](https://a.test/a.png)",
    "[a]: https://a.test/",
    "<https://a.test/>",
    "https://a.test/x",
    "www.a.test",
    "a@a.test",
    "@someone",
    "#1",
    "<script>alert(1)</script>",
    "<img src=x>",
    "<!--",
    "-->",
    "&lt;",
    "&#96;",
    "**",
    "__",
    "# ",
    "- ",
    "1. ",
    "> ",
    "---",
    "$x$",
    "$$",
    ":tada:",
    "[^1]",
    "\u{2028}",
    "\u{202e}",
    "\u{1b}[2J",
    "\t",
    " ",
    "f",
    "<details>",
];

fn name(random: &mut Random) -> String {
    (0..random.below(12)).map(|_| *random.of(&PIECES)).collect()
}

/// A folded file in which each name and each file is made of such pieces.
fn recording(random: &mut Random) -> Recording {
    let mut recording = random_recording::recording(random.below(1_000_000) as u64, 2);
    for process in &mut recording.processes {
        process.name = name(random);
        for event_loop in &mut process.event_loops {
            *event_loop = renamed(event_loop, random);
        }
    }
    recording
}

/// The event loop with other names.
fn renamed(event_loop: &EventLoop, random: &mut Random) -> EventLoop {
    let mut new = EventLoop::new(name(random), event_loop.kind.clone());
    let functions: Vec<_> = event_loop
        .functions()
        .map(|function| {
            let mut function = function.clone();
            function.name = name(random);
            function.resource = match random.once_in(4) {
                true => None,
                false => new
                    .add_resource(&format!("https://a.test/{}", name(random)))
                    .unwrap(),
            };
            function.realm = None;
            function.source = None;
            function.generated = None;
            new.add_function(function).unwrap()
        })
        .collect();
    let frames: Vec<_> = event_loop
        .frames()
        .map(|frame| {
            let function = functions[frame.function.index()];
            new.add_frame(Frame { function, ..*frame }).unwrap()
        })
        .collect();
    let mut stacks: Vec<StackId> = Vec::new();
    for stack in event_loop.stacks() {
        let parent = stack.parent.map(|parent| stacks[parent.index()]);
        stacks.push(new.add_stack(parent, frames[stack.frame.index()]).unwrap());
    }
    for sample in event_loop.samples() {
        let mut sample = *sample;
        sample.stack = sample.stack.map(|stack| stacks[stack.index()]);
        new.add_sample(sample).unwrap();
    }
    new
}

/// What may be in a report: anything else was made by a name.
fn check(text: &str) {
    assert!(text.chars().count() <= MAX_MARKDOWN_CHARACTERS);
    let (mut cells, mut columns) = (0, 0);
    let mut fences = 0;
    let mut headings = Vec::new();
    for event in Parser::new_ext(text, Options::all()) {
        match event {
            Event::Start(Tag::Table(alignments)) => columns = alignments.len(),
            Event::Start(Tag::TableRow | Tag::TableHead) => cells = 0,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => {
                assert_eq!(cells, columns, "{text}");
            },
            Event::Start(Tag::CodeBlock(_)) => fences += 1,
            Event::Start(Tag::Heading { .. }) => headings.push(String::new()),
            // A name is in a code span, or in the block of the tree.
            Event::Text(part) if headings.last().is_some_and(String::is_empty) => {
                *headings.last_mut().unwrap() = part.into_string();
            },
            Event::Start(Tag::Paragraph)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak => {},
            other => panic!("{other:?} in\n{text}"),
        }
    }
    let expected = [
        "Profile",
        "Hot functions",
        "Hot lines",
        "Call tree",
        "Callers",
    ];
    assert_eq!(headings, expected, "{text}");
    assert!(fences <= 1, "{text}");
    // GitHub and GitLab know more than the parser. In code spans and blocks they look for nothing; outside there is
    // nothing but our own words.
    for part in outside_of_code(text) {
        let is_ours = |character: char| matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '|' | '-' | ':' | ',' | '.' | '%' | '#' | ';' | '\n');
        assert!(part.chars().all(is_ours), "{part:?} in\n{text}");
        for mark in ["://", "www.", "](", ":tada:", "#1"] {
            assert!(!part.contains(mark), "{part:?} in\n{text}");
        }
    }
}

/// The text without code spans and fenced blocks, read as simply as a reader could.
fn outside_of_code(text: &str) -> Vec<String> {
    let mut outside = vec![String::new()];
    let mut is_fence = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_fence = !is_fence;
        } else if !is_fence {
            for (number, part) in line.split('`').enumerate() {
                if number % 2 == 0 {
                    outside.push(part.to_owned());
                }
            }
            assert_eq!(line.matches('`').count() % 2, 0, "{line}");
        }
    }
    assert!(!is_fence, "{text}");
    outside
}

#[test]
fn no_name_is_markdown() {
    let mut random = Random(1);
    for _ in 0..300 {
        let files = [
            (name(&mut random), recording(&mut random)),
            (name(&mut random), recording(&mut random)),
        ];
        let count = 1 + random.below(2);
        let top = random.below(30);
        check(&markdown_report(&files[..count], By::Function, top));
    }
}

#[test]
fn each_piece_alone_is_none_either() {
    for piece in PIECES {
        for text in [
            piece.to_owned(),
            piece.repeat(60),
            format!("x{piece}x"),
            format!("{piece} "),
        ] {
            let mut recording = random_recording::recording(1, 1);
            recording.processes[0].event_loops[0].name = text.clone();
            check(&markdown_report(&[(text, recording)], By::Function, 10));
        }
    }
}

#[test]
fn a_long_report_is_cut_and_says_so() {
    let mut folded = String::new();
    for number in 0..3_000 {
        let name = "`|".repeat(60);
        folded += &format!("[{name}{number}];{name}{number};{name}{} 3\n", number + 1);
    }
    let (recording, _) = profile_formats::read(folded.as_bytes(), None, None).unwrap();
    let text = markdown_report(&[(String::new(), recording)], By::Function, usize::MAX);
    check(&text);
    assert!(text.chars().count() > MAX_MARKDOWN_CHARACTERS / 3);
    let cut = "The rest is left out, because it would be too long.";
    assert!(text.matches(cut).count() >= 2, "{text}");
}
