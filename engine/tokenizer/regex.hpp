#pragma once
/// Regular expressions as tokenizer files write them: Oniguruma's, over UTF-8.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A stretch of a text, bytes begin..end.
struct Match {
    std::size_t begin = 0, end = 0;
    bool operator==(const Match&) const = default;
};

/// What the searches in one text may take together, in steps back. It grows with what is searched: the patterns of known tokenizers need a
/// few steps for each character, while others can take longer than anybody waits.
class SearchSteps {
public:
    static constexpr std::uint64_t kFirst = 20'000'000, kPerByte = 512;
    /// Before so many bytes are searched.
    void add_text(std::size_t bytes) {
        bytes_ += bytes;
        left_ += kPerByte * bytes;
    }
    std::uint64_t left() const { return left_; }
    void take(std::uint64_t steps) { left_ -= steps < left_ ? steps : left_; }
    std::size_t bytes() const { return bytes_; }

private:
    std::uint64_t left_ = kFirst;
    std::size_t bytes_ = 0;
};

/// A compiled expression; may be used by several threads at once.
class Regex {
public:
    /// Throws ConfigError for an expression that Oniguruma does not take.
    explicit Regex(std::string_view pattern);
    /// All matches from left to right, none inside of another. Throws ConfigError when they take more steps than are left.
    std::vector<Match> matches(std::string_view text, SearchSteps& steps) const;

private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

/// What a tokenizer file looks for: an expression, or a text as it stands.
class TextPattern {
public:
    static TextPattern regex(std::string_view expression);
    static TextPattern literal(std::string_view text);
    std::vector<Match> matches(std::string_view text, SearchSteps& steps) const;

private:
    std::shared_ptr<const Regex> regex_;
    std::string literal_;
};

}  // namespace attn
