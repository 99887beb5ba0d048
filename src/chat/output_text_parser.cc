// Finds written-out special tokens in pieces of text.
#include "chat/output_text_parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "chat/output_match.h"

namespace deltaserve {
namespace {

void append(std::vector<OutputEvent>& events, std::vector<OutputEvent> more) {
  events.insert(events.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<SpecialText> control_texts() {
  std::vector<SpecialText> texts;
  for (const ControlToken token : {ControlToken::kThinkOpen, ControlToken::kThinkClose,
                                   ControlToken::kToolCallOpen, ControlToken::kToolCallClose}) {
    texts.push_back({std::string(control::literal(token)), SpecialText::Role::kControl, token});
  }
  return texts;
}

std::vector<SpecialText> special_texts(const Tokenizer& tokenizer,
                                       const std::vector<int32_t>& end_ids) {
  std::vector<SpecialText> texts;
  const ControlTokenIds control_ids(tokenizer);
  for (const AddedToken& added : tokenizer.added_tokens()) {
    const ControlToken token = control_ids.kind(added.id);
    const bool ends = std::ranges::find(end_ids, added.id) != end_ids.end();
    if (added.content.empty()) continue;
    if (token != ControlToken::kNone) {
      texts.push_back({added.content, SpecialText::Role::kControl, token});
    } else if (ends || added.special) {
      const auto role = ends ? SpecialText::Role::kEnd : SpecialText::Role::kHidden;
      texts.push_back({added.content, role, ControlToken::kNone});
    }
  }
  // The longest first, should one begin with another.
  std::ranges::stable_sort(texts, std::ranges::greater(),
                           [](const SpecialText& special) { return special.text.size(); });
  return texts;
}

OutputTextParser::OutputTextParser(std::vector<SpecialText> specials, OutputOptions options,
                                   ToolIdGenerator ids)
    : specials_(std::move(specials)), parser_(std::move(options), ids) {}

std::vector<OutputEvent> OutputTextParser::push(std::string_view piece) {
  held_ += piece;
  return run(false);
}

std::vector<OutputEvent> OutputTextParser::finish(OutputEnd end) {
  std::vector<OutputEvent> events = run(true);
  append(events, parser_.finish(end));
  return events;
}

std::vector<OutputEvent> OutputTextParser::run(bool at_end) {
  std::vector<OutputEvent> events;
  size_t sent = 0;
  size_t at = 0;
  const std::string_view held(held_);
  while (at < held.size() && !ended_) {
    Match best = Match::kNo;
    const SpecialText* found = nullptr;
    for (const SpecialText& special : specials_) {
      const Match match = match_prefix(held.substr(at), special.text);
      if (match == Match::kYes && found == nullptr) found = &special;
      best = std::max(best, match);
    }
    if (best == Match::kPartial && !at_end) break;
    if (best != Match::kYes) {
      ++at;
      continue;
    }
    append(events, parser_.push_text(held.substr(sent, at - sent)));
    append(events, take_special(*found));
    at += found->text.size();
    sent = at;
  }
  if (!ended_) append(events, parser_.push_text(held.substr(sent, at - sent)));
  held_.erase(0, ended_ ? std::string::npos : at);
  return events;
}

std::vector<OutputEvent> OutputTextParser::take_special(const SpecialText& special) {
  if (special.role == SpecialText::Role::kControl) return parser_.push_control(special.token);
  ended_ = special.role == SpecialText::Role::kEnd;
  return {};
}

}  // namespace deltaserve
