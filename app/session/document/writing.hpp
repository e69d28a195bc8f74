#pragma once
/// What a model writes on, token by token: a tree in which every way from the prompt to a token is a text.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attn::app {

struct Document;
struct Setup;
struct State;

/// Where the prompt ends and nothing is written yet.
inline constexpr std::int64_t kPrompt = -1;
/// Tokens of all branches together.
inline constexpr std::size_t kMostWritten = 8192;

struct WrittenToken {
    std::int32_t id = 0;
    std::int64_t after = kPrompt;  ///< the token that it follows
    double predicted = 0;          ///< how likely the model found it when it was written, at temperature 1
    double chance = 0;             ///< that the sampler gave it; 0: it was chosen by hand
    bool operator==(const WrittenToken&) const = default;
};

/// The branches of one document. Every token stands behind the one that it follows.
struct Writing {
    std::int64_t sequence = 0;  ///< of the batch, which it goes on from
    std::vector<WrittenToken> tokens;
    std::int64_t shown = kPrompt;  ///< the moment that is looked at: the text ends with this token
    std::int64_t end = kPrompt;    ///< of the branch that is looked at: `shown` or a later token of it
    bool operator==(const Writing&) const = default;
};

/// The tokens from the prompt to this one, the first one first; none for kPrompt.
std::vector<std::int64_t> way_to(const Writing& writing, std::int64_t token);
std::vector<std::int32_t> ids_to(const Writing& writing, std::int64_t token);
/// How many tokens that are.
std::size_t depth_of(const Writing& writing, std::int64_t token);
/// Whether the way to `token` goes through `before`, or ends there.
bool leads_through(const Writing& writing, std::int64_t token, std::int64_t before);
/// The tokens that follow this one, in the order in which they were written.
std::vector<std::int64_t> continuations(const Writing& writing, std::int64_t token);
/// The last token of every branch.
std::vector<std::int64_t> branch_ends(const Writing& writing);
/// The end of the branch that was begun first at this token: the token itself where nothing follows it.
std::int64_t first_end_after(const Writing& writing, std::int64_t token);

/// Puts a token behind `written.after`, unless it is there already, and returns its place. Throws Error beyond kMostWritten.
std::int64_t put_token(Writing& writing, const WrittenToken& written);
/// The same without a token and all that follow it. What is looked at becomes the token before.
Writing without_branch(const Writing& writing, std::int64_t token);

/// Looks at the text up to this token; the document's ids follow.
void show_written(Document& document, std::int64_t token);
/// Of a document that was made from `before`: what was written stays where the text before it is read as it was; else the branch that was
/// looked at becomes part of its text, if that is still there.
void keep_written(Document& document, const Document& before);
/// As text; where bytes are no whole character they are shown as U+FFFD.
std::string written_text(const Setup& setup, const std::vector<std::int32_t>& ids);
/// The document's texts with what was written behind them.
std::vector<std::string> whole_texts(const Setup& setup);
/// The shown state with another branch in place of what it has written.
std::shared_ptr<const State> state_with_written(const State& shown, const Writing& writing, std::int64_t token);

/// Throws Error where a tree that was read from a file is none: what is wrong, in a few words.
void require_writing(const Writing& writing);

}  // namespace attn::app
