#include "engine/tokenizer/regex.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/counted_loops.hpp"

namespace attn {
namespace {

/// Oniguruma limits the steps back of a search but does not tell how many there were. A search starts with few, which are free because
/// every search has them, and is repeated with kMoreSteps times as many after each failure, as far as the remaining work allows.
constexpr unsigned long kFirstSteps = 64, kMoreSteps = 8;
constexpr std::size_t kLongestPattern = 16384;

std::string error_text(int code, OnigErrorInfo* info = nullptr) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
    const int length = info != nullptr ? onig_error_code_to_str(text.data(), code, info) : onig_error_code_to_str(text.data(), code);
    return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

const OnigUChar* bytes(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

/// What the callouts of one search have counted. At the limit they end the search.
struct CalloutCount {
    std::uint64_t units = 0, limit = 0;

    int add(std::uint64_t more) {
        units += more;
        return units > limit ? ONIG_ABORT : ONIG_CALLOUT_SUCCESS;
    }
};

int count_pass(OnigCalloutArgs*, void* count) { return static_cast<CalloutCount*>(count)->add(1); }

/// What is compared is about as long as what has been matched so far; looking back, that is left of the start.
int count_comparison(OnigCalloutArgs* args, void* count) {
    constexpr std::uint64_t kBytesPerUnit = 64;
    const auto matched = onig_get_current_by_callout_args(args) - onig_get_start_by_callout_args(args);
    return static_cast<CalloutCount*>(count)->add(1 + static_cast<std::uint64_t>(std::abs(matched)) / kBytesPerUnit);
}

void add_callout(std::string_view name, OnigCalloutFunc count) {
    OnigUChar* const begin = const_cast<OnigUChar*>(bytes(name));  // Oniguruma copies it
    onig_set_callout_of_name(ONIG_ENCODING_UTF8, ONIG_CALLOUT_TYPE_SINGLE, begin, begin + name.size(), ONIG_CALLOUT_IN_PROGRESS, count,
                             nullptr, 0, nullptr, 0, nullptr);
}

void initialise() {
    static std::once_flag done;
    std::call_once(done, [] {
        OnigEncoding encoding = ONIG_ENCODING_UTF8;
        onig_initialize(&encoding, 1);
        add_callout(kPassCallout, count_pass);
        add_callout(kComparisonCallout, count_comparison);
    });
}

bool is_over_limit(int code) { return code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER; }

}  // namespace

struct Regex::Compiled {
    explicit Compiled(std::string_view pattern) : name(fmt::format("\"{}\"", escaped(pattern))) {
        if (pattern.size() > kLongestPattern)
            throw ConfigError(
                fmt::format("a regular expression of {} bytes is too long; at most {} are accepted", pattern.size(), kLongestPattern));
        initialise();
        onig_free(compiled(pattern));
        handle = compiled(with_counted_loops(pattern));
    }
    ~Compiled() { onig_free(handle); }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    regex_t* compiled(std::string_view pattern) const {
        regex_t* made = nullptr;
        OnigErrorInfo info{};
        const int code = onig_new(&made, bytes(pattern), bytes(pattern) + pattern.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                                  ONIG_SYNTAX_DEFAULT, &info);
        if (code == ONIGERR_MEMORY) throw std::bad_alloc();
        if (code != ONIG_NORMAL)
            throw ConfigError(fmt::format("the regular expression {} cannot be used: {}", name, error_text(code, &info)));
        return made;
    }

    regex_t* handle = nullptr;
    std::string name;  ///< for messages: the expression, perhaps shortened
};

Regex::Regex(std::string_view pattern) : compiled_(std::make_shared<const Compiled>(pattern)) {}

namespace {

/// Consecutive searches in a text, all within the work allowed.
class Searches {
public:
    /// `name` is for messages and must outlive this.
    Searches(regex_t* expression, const std::string& name, std::string_view text, SearchWork& work)
        : expression_(expression), name_(name), begin_(bytes(text)), end_(begin_ + text.size()), work_(work),
          limits_(onig_new_match_param()), region_(onig_region_new()) {
        if (limits_ == nullptr || region_ == nullptr) throw std::bad_alloc();
        onig_initialize_match_param(limits_.get());
        onig_set_callout_user_data_of_match_param(limits_.get(), &count_);
    }

    /// The first match from `at` on, if any.
    std::optional<Match> next(std::size_t at) {
        for (std::uint64_t steps = kFirstSteps, charge = 0;; charge = steps = std::min(steps * kMoreSteps, work_.left())) {
            const int place = search(at, steps);
            work_.take(count_.units + charge);
            if (place == ONIG_ABORT || (is_over_limit(place) && work_.left() < kFirstSteps))
                throw ConfigError(
                    fmt::format("the tokenizer's regular expressions take too long on this text and were stopped at {}", name_));
            if (place >= 0) return Match{static_cast<std::size_t>(region_->beg[0]), static_cast<std::size_t>(region_->end[0])};
            if (place == ONIG_MISMATCH) return std::nullopt;
            if (place == ONIGERR_MEMORY) throw std::bad_alloc();
            if (!is_over_limit(place))
                throw ConfigError(fmt::format("the tokenizer's regular expression {} fails on this text: {}", name_, error_text(place)));
        }
    }

private:
    struct Free {
        void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
        void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
    };

    /// One search with at most so many steps back.
    int search(std::size_t at, unsigned long steps) {
        count_ = {0, work_.left()};
        onig_set_retry_limit_in_match_of_match_param(limits_.get(), steps);
        onig_set_retry_limit_in_search_of_match_param(limits_.get(), steps);
        return onig_search_with_param(expression_, begin_, end_, begin_ + at, end_, region_.get(), ONIG_OPTION_NONE, limits_.get());
    }

    regex_t* expression_;
    const std::string& name_;
    const OnigUChar *begin_, *end_;
    SearchWork& work_;
    CalloutCount count_;
    std::unique_ptr<OnigMatchParam, Free> limits_;
    std::unique_ptr<OnigRegion, Free> region_;
};

}  // namespace

std::vector<Match> Regex::matches(std::string_view text, SearchWork& work) const {
    std::vector<Match> out;
    if (text.empty()) return out;
    work.add_text(text.size());
    Searches searches(compiled_->handle, compiled_->name, text, work);
    for (std::size_t at = 0; at <= text.size();) {
        const std::optional<Match> match = searches.next(at);
        if (!match) break;
        if (match->begin == match->end && !out.empty() && out.back().end == match->end) {
            at += at < text.size() ? first_utf8(text.substr(at)).bytes : 1;
            continue;
        }
        at = match->end;
        out.push_back(*match);
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

std::vector<Match> TextPattern::matches(std::string_view text, SearchWork& work) const {
    if (regex_) return regex_->matches(text, work);
    std::vector<Match> out;
    if (literal_.empty()) return out;
    for (std::size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
        out.push_back({at, at + literal_.size()});
    return out;
}

}  // namespace attn
