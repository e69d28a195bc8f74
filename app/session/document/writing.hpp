#pragma once
/// Generated text as a tree of tokens; every path from the prompt to a token is a text.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attn::app {

struct Document;
struct Setup;
struct State;

/// The root of the tree: the end of the prompt.
inline constexpr std::int64_t kPrompt = -1;
/// The most tokens that all branches together may have.
inline constexpr std::size_t kMostWritten = 8192;

struct WrittenToken {
    std::int32_t id = 0;
    std::int64_t after = kPrompt;  ///< index of the preceding token
    double predicted = 0;          ///< the model's probability for it when it was generated, at temperature 1
    double chance = 0;             ///< the sampler's probability of drawing it; 0: chosen by hand
    bool operator==(const WrittenToken&) const = default;
};

/// The branches of one document. Every token is stored after the one it follows.
struct Writing {
    std::int64_t sequence = 0;  ///< index of the sequence in the batch that is continued
    std::vector<WrittenToken> tokens;
    std::int64_t shown = kPrompt;  ///< the shown text ends with this token
    std::int64_t end = kPrompt;    ///< last token of the shown branch: `shown` or one after it
    bool operator==(const Writing&) const = default;
};

/// Indices of the tokens from the prompt to this one, in order; empty for kPrompt.
std::vector<std::int64_t> way_to(const Writing& writing, std::int64_t token);
std::vector<std::int32_t> ids_to(const Writing& writing, std::int64_t token);
/// The number of tokens on that path.
std::size_t depth_of(const Writing& writing, std::int64_t token);
/// Whether the path to `token` contains `before` or ends there.
bool leads_through(const Writing& writing, std::int64_t token, std::int64_t before);
/// The tokens that directly follow this one, oldest first.
std::vector<std::int64_t> continuations(const Writing& writing, std::int64_t token);
/// The last token of every branch.
std::vector<std::int64_t> branch_ends(const Writing& writing);
/// The end of the oldest branch through this token; the token itself if nothing follows it.
std::int64_t first_end_after(const Writing& writing, std::int64_t token);

/// Adds a token after `written.after` unless it is already there, and returns its index. Throws Error beyond kMostWritten.
std::int64_t put_token(Writing& writing, const WrittenToken& written);
/// The tree without a token and everything after it. If that was shown, the token before it becomes the shown one.
Writing without_branch(const Writing& writing, std::int64_t token);

/// Shows the text up to this token and updates the document's `written` ids.
void show_written(Document& document, std::int64_t token);
/// To be called for a document derived from `before`. Generated tokens stay if the prompt is still tokenized as before. Otherwise they are
/// dropped; if the texts themselves are unchanged, the shown branch becomes part of its text.
void keep_written(Document& document, const Document& before);
/// Decodes ids to text; incomplete UTF-8 characters are shown as U+FFFD.
std::string written_text(const Setup& setup, const std::vector<std::int32_t>& ids);
/// The document's texts, including generated text.
std::vector<std::string> whole_texts(const Setup& setup);
/// The shown state with another branch as its generated text.
std::shared_ptr<const State> state_with_written(const State& shown, const Writing& writing, std::int64_t token);

/// Throws Error with a short reason if a tree read from a file is invalid.
void require_writing(const Writing& writing);

}  // namespace attn::app
