// Compiled grammars of the model being served: clients send the same schema with every request, so
// the last ones are kept. Thread-safe; requests compile on their own worker threads.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "chat/tool_call_grammar.h"
#include "grammar/grammar_spec.h"
#include "text/tokenizer.h"

namespace deltaserve {

// What an answer may be: a text of the spec, tool calls, or either. At least one is there.
struct AnswerRules {
  std::optional<GrammarSpec> spec;
  std::optional<ToolCallRules> tools;
  bool after_thought = false;  // it may begin with white space
};

class GrammarStore {
 public:
  // `end_ids` end an answer.
  GrammarStore(const Tokenizer& tokenizer, const std::vector<int32_t>& end_ids);

  // Errors: kInvalidArgument; `param` is "tools" if that is where the fault is.
  Result<std::shared_ptr<Grammar>> get(const AnswerRules& rules);

 private:
  Result<std::shared_ptr<Grammar>> compile(const AnswerRules& rules) const;
  std::shared_ptr<Grammar> find(const std::string& key);
  void drop_last();  // beyond the limits; with mutex_ held

  struct Entry {
    std::string key;
    std::shared_ptr<Grammar> grammar;
  };

  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace deltaserve
