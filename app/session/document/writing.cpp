#include "app/session/document/writing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/session/document/document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

const WrittenToken& token_at(const Writing& writing, std::int64_t token) { return writing.tokens.at(static_cast<std::size_t>(token)); }

std::int64_t size_of(const Writing& writing) { return static_cast<std::int64_t>(writing.tokens.size()); }

/// Whether both setups tokenize the texts identically.
bool read_alike(const Setup& a, const Setup& b) {
    return a.texts == b.texts && a.source_texts == b.source_texts && a.model == b.model && a.shipped == b.shipped &&
           a.tokenizer == b.tokenizer && a.special_tokens == b.special_tokens && a.vocabulary == b.vocabulary &&
           a.vocabulary_texts == b.vocabulary_texts && a.config.architecture == b.config.architecture;
}

std::string valid_utf8(std::string text) {
    static constexpr std::string_view kUnknown = "\uFFFD";
    while (const auto bad = find_invalid_utf8(text)) text.replace(*bad, 1, kUnknown);
    return text;
}

}  // namespace

std::vector<std::int64_t> way_to(const Writing& writing, std::int64_t token) {
    std::vector<std::int64_t> way;
    for (; token != kPrompt; token = token_at(writing, token).after) way.push_back(token);
    std::reverse(way.begin(), way.end());
    return way;
}

std::vector<std::int32_t> ids_to(const Writing& writing, std::int64_t token) {
    std::vector<std::int32_t> ids;
    for (const std::int64_t on : way_to(writing, token)) ids.push_back(token_at(writing, on).id);
    return ids;
}

std::size_t depth_of(const Writing& writing, std::int64_t token) {
    std::size_t depth = 0;
    for (; token != kPrompt; token = token_at(writing, token).after) ++depth;
    return depth;
}

bool leads_through(const Writing& writing, std::int64_t token, std::int64_t before) {
    while (token > before) token = token_at(writing, token).after;
    return token == before;
}

std::vector<std::int64_t> continuations(const Writing& writing, std::int64_t token) {
    std::vector<std::int64_t> next;
    for (std::int64_t i = token + 1; i < size_of(writing); ++i)
        if (token_at(writing, i).after == token) next.push_back(i);
    return next;
}

std::vector<std::int64_t> branch_ends(const Writing& writing) {
    std::vector<bool> goes_on(writing.tokens.size());
    for (const WrittenToken& token : writing.tokens)
        if (token.after != kPrompt) goes_on[static_cast<std::size_t>(token.after)] = true;
    std::vector<std::int64_t> ends;
    for (std::size_t i = 0; i < goes_on.size(); ++i)
        if (!goes_on[i]) ends.push_back(static_cast<std::int64_t>(i));
    return ends;
}

std::int64_t first_end_after(const Writing& writing, std::int64_t token) {
    for (std::int64_t i = token + 1; i < size_of(writing); ++i)
        if (token_at(writing, i).after == token) token = i;
    return token;
}

std::int64_t put_token(Writing& writing, const WrittenToken& written) {
    for (const std::int64_t next : continuations(writing, written.after))
        if (token_at(writing, next).id == written.id) return next;
    if (writing.tokens.size() == kMostWritten)
        throw Error(fmt::format("the branches hold {} tokens in all, the most that can be kept: remove one of them", kMostWritten));
    writing.tokens.push_back(written);
    return size_of(writing) - 1;
}

Writing without_branch(const Writing& writing, std::int64_t token) {
    if (token == kPrompt) return {.sequence = writing.sequence, .tokens = {}};
    std::vector<std::int64_t> place(writing.tokens.size());
    Writing left{.sequence = writing.sequence, .tokens = {}};
    for (std::int64_t i = 0; i < size_of(writing); ++i) {
        if (leads_through(writing, i, token)) continue;
        WrittenToken kept = token_at(writing, i);
        if (kept.after != kPrompt) kept.after = place[static_cast<std::size_t>(kept.after)];
        place[static_cast<std::size_t>(i)] = size_of(left);
        left.tokens.push_back(kept);
    }
    const auto placed = [&](std::int64_t on) {
        if (leads_through(writing, on, token)) on = token_at(writing, token).after;
        return on == kPrompt ? kPrompt : place[static_cast<std::size_t>(on)];
    };
    left.shown = placed(writing.shown);
    left.end = first_end_after(left, placed(writing.end));
    return left;
}

void show_written(Document& document, std::int64_t token) {
    Writing& writing = document.writing;
    if (token < kPrompt || token >= size_of(writing)) throw Error(fmt::format("no token {} has been written", token));
    writing.shown = token;
    if (!leads_through(writing, writing.end, token)) writing.end = first_end_after(writing, token);
    document.written = {writing.sequence, ids_to(writing, token)};
    if (document.written.ids.empty()) document.written = {};
}

void keep_written(Document& document, const Document& before) {
    if (document.writing.tokens.empty() || document.writing != before.writing || read_alike(document, before)) return;
    if (document.texts == before.texts) document.texts = whole_texts(before);
    document.writing = {};
    document.written = {};
}

std::string written_text(const Setup& setup, const std::vector<std::int32_t>& ids) {
    if (ids.empty()) return "";
    const SharedWords vocabulary = vocabulary_of(setup);
    const std::string_view between = conventions_of(setup).between;
    std::string text;
    for (const std::int32_t id : ids) {
        if (!text.empty()) text += between;
        if (const auto at = static_cast<std::size_t>(id); at < vocabulary.size()) text += vocabulary[at];
    }
    return valid_utf8(std::move(text));
}

std::vector<std::string> whole_texts(const Setup& setup) {
    std::vector<std::string> texts = setup.texts;
    if (setup.written.ids.empty()) return texts;
    std::string& text = texts.at(static_cast<std::size_t>(setup.written.sequence));
    if (!text.empty()) text += conventions_of(setup).between;
    text += written_text(setup, setup.written.ids);
    return texts;
}

std::shared_ptr<const State> state_with_written(const State& shown, const Writing& writing, std::int64_t token) {
    Setup setup = *shown.setup;
    setup.written = {writing.sequence, ids_to(writing, token)};
    if (setup.written.ids.empty()) setup.written = {};
    return std::make_shared<const State>(State{std::make_shared<const Setup>(std::move(setup)), shown.source});
}

void require_writing(const Writing& writing) {
    if (writing.tokens.size() > kMostWritten) throw Error(fmt::format("expected at most {} tokens", kMostWritten));
    for (std::int64_t i = 0; i < size_of(writing); ++i) {
        const WrittenToken& token = token_at(writing, i);
        if (token.after < kPrompt || token.after >= i)
            throw Error(fmt::format("token {} follows {}: expected one before it", i, token.after));
    }
    const auto require_place = [&](const char* what, std::int64_t place) {
        if (place < kPrompt || place >= size_of(writing)) throw Error(fmt::format("{} is {}: there is no such token", what, place));
    };
    require_place("shown", writing.shown);
    require_place("end", writing.end);
    if (!leads_through(writing, writing.end, writing.shown)) throw Error("the chosen branch does not contain what is shown");
}

}  // namespace attn::app
