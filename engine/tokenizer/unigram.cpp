#include "engine/tokenizer/unigram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/component_json.hpp"

namespace attn {
namespace {

constexpr double kUnknownPenalty = 10;  ///< below the lowest score, as in SentencePiece

}  // namespace

Unigram::Unigram(Vocabulary vocabulary, std::vector<double> scores, UnigramOptions options)
    : TokenModel(std::move(vocabulary)), scores_(std::move(scores)), options_(std::move(options)) {
    if (options_.unknown && *options_.unknown >= vocabulary_.size())
        throw ConfigError(fmt::format("the unknown token's id {} is not in a vocabulary of {}", *options_.unknown, vocabulary_.size()));
    double least = 0;
    for (std::int64_t id = 0; id < vocabulary_.size(); ++id) {
        const double score = scores_.at(static_cast<std::size_t>(id));
        if (!std::isfinite(score)) throw ConfigError(fmt::format("the score of id {} is not a finite number", id));
        least = id == 0 ? score : std::min(least, score);
        if (in_words(id)) pieces_.add(*vocabulary_.text(id), static_cast<std::int32_t>(id));
    }
    unknown_score_ = options_.unknown_score.value_or(least - kUnknownPenalty);
}

/// For every end position: the last piece of the best spelling up to there.
template <class Offered>
std::vector<Unigram::Step> Unigram::best_steps(std::string_view word, Offered&& offered) const {
    std::vector<Step> steps(word.size() + 1);
    const auto offer = [&](std::size_t begin, std::size_t end, std::int32_t id, double score, bool known) {
        Step& step = steps[end];
        double total = steps[begin].score + score;
        if (options_.single_precision) total = static_cast<double>(static_cast<float>(total));
        offered(begin, end, id, score, total);
        if (!step.reached || total > step.score) step = {total, static_cast<std::uint32_t>(begin), id, true, known};
    };
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t one = first_utf8(word.substr(at)).bytes;
        bool has_single = false;
        std::int32_t node = ByteTrie::kRoot;
        for (std::size_t end = at; end < word.size();) {
            node = pieces_.child(node, word[end++]);
            if (node == ByteTrie::kNone) break;
            const std::int32_t id = pieces_.value(node);
            if (id == ByteTrie::kNone) continue;
            offer(at, end, id, scores_[static_cast<std::size_t>(id)], id != options_.unknown);
            has_single = has_single || end - at == one;
        }
        if (!has_single) {
            if (!options_.unknown) refuse_unknown(word.substr(at, one));
            offer(at, at + one, *options_.unknown, unknown_score_, false);
        }
        at += one;
    }
    return steps;
}

void Unigram::spell(std::string_view word, std::size_t begin, std::size_t end, std::vector<WordToken>& out) const {
    const auto first = static_cast<std::uint32_t>(begin), last = static_cast<std::uint32_t>(end);
    const std::string_view piece = word.substr(begin, end - begin);
    if (const auto id = vocabulary_.find(piece); id && in_words(*id)) {
        out.push_back({*id, first, last});
        return;
    }
    if (options_.byte_fallback) {
        std::vector<WordToken> bytes;
        for (const char c : piece)
            if (const auto id = vocabulary_.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(c))))
                bytes.push_back({*id, first, last});
        if (bytes.size() == piece.size()) {
            out.insert(out.end(), bytes.begin(), bytes.end());
            return;
        }
    }
    out.push_back({*options_.unknown, first, last});
}

void Unigram::encode(std::string_view word, std::vector<WordToken>& out) const {
    const std::vector<Step> steps = best_steps(word, [](std::size_t, std::size_t, std::int32_t, double, double) {});
    struct Range {
        std::size_t begin, end;
        bool known;
    };
    std::vector<Range> ranges;  // last to first
    for (std::size_t end = word.size(); end > 0;) {
        const Step& step = steps[end];
        if (options_.fuse_unknown && !step.known && !ranges.empty() && !ranges.back().known) ranges.back().begin = step.begin;
        else ranges.push_back({step.begin, end, step.known});
        end = step.begin;
    }
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) spell(word, range->begin, range->end, out);
}

WordTrace Unigram::trace(std::string_view word) const {
    WordTrace trace;
    encode(word, trace.tokens);
    const std::vector<Step> steps = best_steps(word, [&](std::size_t begin, std::size_t end, std::int32_t id, double score, double total) {
        trace.spellings.push_back({{id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}, score, total, false});
    });
    for (std::size_t end = word.size(); end > 0; end = steps[end].begin)
        for (WordTrace::Spelling& spelling : trace.spellings)
            if (spelling.token.end == end && spelling.token.begin == steps[end].begin && spelling.token.id == steps[end].id)
                spelling.chosen = true;
    return trace;
}

std::unique_ptr<TokenModel> read_unigram(JsonObject& json) {
    UnigramOptions options;
    json.read("byte_fallback", options.byte_fallback);
    std::int32_t unknown = 0;
    if (json.read("unk_id", unknown, 0, static_cast<std::int32_t>(Vocabulary::kMaxIds - 1))) options.unknown = unknown;
    const Json* list = json.value("vocab");
    if (list == nullptr || !list->is_list() || list->empty()) json.fail("vocab", "expected a list of [string, score]", FileFault::Format);
    return at_field(json, "vocab", [&] {
        Vocabulary vocabulary;
        std::vector<double> scores;
        for (const Json& item : list->items()) {
            if (!item.is_list() || item.size() != 2 || !item.items()[0].is_string() || !item.items()[1].is_number())
                json.fail("vocab", fmt::format("entry {} is not [string, score]", scores.size()), FileFault::Format);
            vocabulary.add(item.items()[0].text(), static_cast<std::int64_t>(scores.size()));
            scores.push_back(item.items()[1].number());
        }
        return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), std::move(options));
    });
}

}  // namespace attn
