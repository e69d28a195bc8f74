#pragma once
/// Regular expressions as tokenizer files write them: Oniguruma's, over UTF-8.

#include <cstddef>
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

/// A compiled expression; may be used by several threads at once.
class Regex {
public:
    /// Throws ConfigError for an expression that Oniguruma does not take.
    explicit Regex(std::string_view pattern);
    /// All matches from left to right, none inside of another. Throws ConfigError when one takes too many steps.
    std::vector<Match> matches(std::string_view text) const;

private:
    struct Compiled;
    std::shared_ptr<const Compiled> compiled_;
};

/// What a tokenizer file looks for: an expression, or a text as it stands.
class TextPattern {
public:
    static TextPattern regex(std::string_view expression);
    static TextPattern literal(std::string_view text);
    std::vector<Match> matches(std::string_view text) const;

private:
    std::shared_ptr<const Regex> regex_;
    std::string literal_;
};

}  // namespace attn
