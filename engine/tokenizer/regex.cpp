#include "engine/tokenizer/regex.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <array>
#include <mutex>
#include <new>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Steps back that one match may take. The patterns of known tokenizers need a few for each character of the longest word.
constexpr unsigned long kMaxSteps = 20'000'000;
constexpr std::size_t kLongestPattern = 16384;

std::string error_text(int code, OnigErrorInfo* info = nullptr) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
    const int length = info != nullptr ? onig_error_code_to_str(text.data(), code, info) : onig_error_code_to_str(text.data(), code);
    return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

void initialise() {
    static std::once_flag done;
    std::call_once(done, [] {
        OnigEncoding encoding = ONIG_ENCODING_UTF8;
        onig_initialize(&encoding, 1);
    });
}

const OnigUChar* bytes(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

}  // namespace

struct Regex::Compiled {
    explicit Compiled(std::string_view pattern) {
        if (pattern.size() > kLongestPattern)
            throw ConfigError(fmt::format("a regular expression of {} bytes; at most {} are taken", pattern.size(), kLongestPattern));
        initialise();
        OnigErrorInfo info{};
        const int code = onig_new(&handle, bytes(pattern), bytes(pattern) + pattern.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                                  ONIG_SYNTAX_DEFAULT, &info);
        if (code == ONIGERR_MEMORY) throw std::bad_alloc();
        if (code != ONIG_NORMAL)
            throw ConfigError(fmt::format("the regular expression \"{}\" cannot be used: {}", escaped(pattern), error_text(code, &info)));
    }
    ~Compiled() { onig_free(handle); }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    regex_t* handle = nullptr;
};

Regex::Regex(std::string_view pattern) : compiled_(std::make_shared<const Compiled>(pattern)) {}

std::vector<Match> Regex::matches(std::string_view text) const {
    const std::unique_ptr<OnigMatchParam, void (*)(OnigMatchParam*)> limits(onig_new_match_param(), onig_free_match_param);
    const std::unique_ptr<OnigRegion, void (*)(OnigRegion*)> region(onig_region_new(), [](OnigRegion* r) { onig_region_free(r, 1); });
    if (limits == nullptr || region == nullptr) throw std::bad_alloc();
    onig_initialize_match_param(limits.get());
    onig_set_retry_limit_in_match_of_match_param(limits.get(), kMaxSteps);
    onig_set_retry_limit_in_search_of_match_param(limits.get(), kMaxSteps);

    const OnigUChar *begin = bytes(text), *end = begin + text.size();
    std::vector<Match> out;
    for (const OnigUChar* at = begin; at < end;) {
        const int place = onig_search_with_param(compiled_->handle, begin, end, at, end, region.get(), ONIG_OPTION_NONE, limits.get());
        if (place == ONIG_MISMATCH) break;
        if (place == ONIGERR_MEMORY) throw std::bad_alloc();
        if (place < 0) throw ConfigError(fmt::format("the tokenizer's regular expression fails at this text: {}", error_text(place)));
        const Match match{static_cast<std::size_t>(region->beg[0]), static_cast<std::size_t>(region->end[0])};
        at = begin + match.end;
        if (match.end > match.begin) out.push_back(match);
        else if (at < end) at += first_utf8(text.substr(match.end)).bytes;
    }
    return out;
}

TextPattern TextPattern::regex(std::string_view expression) {
    TextPattern out;
    out.regex_ = std::make_shared<const Regex>(expression);
    return out;
}

TextPattern TextPattern::literal(std::string_view text) {
    TextPattern out;
    out.literal_ = text;
    return out;
}

std::vector<Match> TextPattern::matches(std::string_view text) const {
    if (regex_) return regex_->matches(text);
    std::vector<Match> out;
    if (literal_.empty()) return out;
    for (std::size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
        out.push_back({at, at + literal_.size()});
    return out;
}

}  // namespace attn
