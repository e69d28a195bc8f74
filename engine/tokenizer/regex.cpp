#include "engine/tokenizer/regex.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// How many steps a search took is not told, only whether they were more than a limit: it begins with few, and each time it fails is tried
/// again with so many times more.
constexpr std::uint64_t kFirstSteps = 64, kMoreSteps = 8;
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

bool is_over_limit(int code) { return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER; }

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

std::vector<Match> Regex::matches(std::string_view text, SearchSteps& steps) const {
    const std::unique_ptr<OnigMatchParam, void (*)(OnigMatchParam*)> limits(onig_new_match_param(), onig_free_match_param);
    const std::unique_ptr<OnigRegion, void (*)(OnigRegion*)> region(onig_region_new(), [](OnigRegion* r) { onig_region_free(r, 1); });
    if (limits == nullptr || region == nullptr) throw std::bad_alloc();
    onig_initialize_match_param(limits.get());

    const OnigUChar *begin = bytes(text), *end = begin + text.size();
    const auto search = [&](const OnigUChar* at, std::uint64_t most) {
        onig_set_retry_limit_in_match_of_match_param(limits.get(), most);
        onig_set_retry_limit_in_search_of_match_param(limits.get(), most);
        steps.take(most);
        return onig_search_with_param(compiled_->handle, begin, end, at, end, region.get(), ONIG_OPTION_NONE, limits.get());
    };
    steps.add_text(text.size());
    std::vector<Match> out;
    for (const OnigUChar* at = begin; at < end;) {
        int place = ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
        for (std::uint64_t most = kFirstSteps; is_over_limit(place); most *= kMoreSteps) {
            if (steps.left() == 0)
                throw ConfigError(
                    fmt::format("the tokenizer's regular expressions take too long for this text: they were given up after {} "
                                "million steps",
                                (SearchSteps::kFirst + SearchSteps::kPerByte * steps.bytes()) / 1'000'000));
            place = search(at, std::min(most, steps.left()));
        }
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

std::vector<Match> TextPattern::matches(std::string_view text, SearchSteps& steps) const {
    if (regex_) return regex_->matches(text, steps);
    std::vector<Match> out;
    if (literal_.empty()) return out;
    for (std::size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
        out.push_back({at, at + literal_.size()});
    return out;
}

}  // namespace attn
