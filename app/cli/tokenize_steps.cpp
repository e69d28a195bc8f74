#include "app/cli/tokenize_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kMostOthers = 4;

std::string shown_text(std::string_view text) { return fmt::format("\"{}\"", escaped(text, 0)); }

std::string_view bytes_of(std::string_view word, std::uint32_t begin, std::uint32_t end) { return word.substr(begin, end - begin); }

std::string stage_name(const TextStage& stage) {
    switch (stage.kind) {
    case TextStage::Kind::Typed:
        return "text";
    case TextStage::Kind::AddedTokens:
        return "special tokens";
    case TextStage::Kind::Normalizer:
    case TextStage::Kind::PreTokenizer:
        break;
    }
    return stage.name;
}

std::vector<std::string_view> stage_pieces(const TextStage& stage) {
    std::vector<std::string_view> pieces;
    for (const Piece& piece : stage.list.pieces)
        if (piece.end > piece.begin) pieces.push_back(stage.list.text_of(piece));
    return pieces;
}

void print_stages(const std::vector<TextStage>& stages) {
    const TextStage* before = nullptr;
    for (const TextStage& stage : stages) {
        std::string line;
        if (before != nullptr && stage_pieces(*before) == stage_pieces(stage)) line = "unchanged";
        else
            for (const std::string_view piece : stage_pieces(stage)) line += (line.empty() ? "" : " ") + shown_text(piece);
        fmt::print("  {:<16} {}\n", stage_name(stage), line);
        before = &stage;
    }
}

/// The parts of a word, separated by spaces.
std::string spaced_parts(std::string_view word, const std::vector<WordToken>& parts) {
    std::string line;
    for (const WordToken& part : parts) {
        if (!line.empty()) line += ' ';
        line += escaped(bytes_of(word, part.begin, part.end), 0);
    }
    return line;
}

std::string pair_text(std::string_view word, const WordTrace::Pair& pair) {
    return fmt::format("{} + {}", escaped(bytes_of(word, pair.begin, pair.middle), 0), escaped(bytes_of(word, pair.middle, pair.end), 0));
}

/// The other candidate pairs, lowest rank first.
std::string other_pairs(std::string_view word, const WordTrace::Join& join) {
    std::vector<WordTrace::Pair> others;
    for (const WordTrace::Pair& pair : join.pairs)
        if (pair.begin != join.joined.begin) others.push_back(pair);
    std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    std::string line;
    for (std::size_t i = 0; i < std::min(others.size(), kMostOthers); ++i)
        line += fmt::format("{}{} ({})", i == 0 ? "; before " : ", ", pair_text(word, others[i]), others[i].rank);
    if (others.size() > kMostOthers) line += fmt::format(", {} more", others.size() - kMostOthers);
    return line;
}

void print_joins(std::string_view word, const WordTrace& trace) {
    if (trace.taken_whole) {
        fmt::print("    the word is a token\n");
        return;
    }
    std::vector<WordToken> parts = trace.parts;
    fmt::print("    {:>3}  {}\n", 0, spaced_parts(word, parts));
    std::size_t number = 0;
    for (const WordTrace::Join& join : trace.joins) {
        const auto left = std::find_if(parts.begin(), parts.end(), [&](const WordToken& part) { return part.begin == join.joined.begin; });
        *left = {join.joined.id, join.joined.begin, join.joined.end};
        parts.erase(left + 1);
        fmt::print("    {:>3}  {}    {}: rank {}{}\n", ++number, spaced_parts(word, parts), pair_text(word, join.joined), join.joined.rank,
                   other_pairs(word, join));
    }
}

void print_spellings(std::string_view word, const WordTrace& trace) {
    for (const WordTrace::Spelling& spelling : trace.spellings)
        fmt::print("    {} {:<24} score {:>9.4f}  so far {:>9.4f}\n", spelling.chosen ? '*' : ' ',
                   shown_text(bytes_of(word, spelling.token.begin, spelling.token.end)), spelling.score, spelling.total);
}

void print_look_ups(std::string_view word, const WordTrace& trace) {
    for (const WordTrace::LookUp& look : trace.look_ups)
        fmt::print("    {} {}{}\n", look.found ? '*' : ' ', look.begin > 0 ? "... " : "", shown_text(bytes_of(word, look.begin, look.end)));
}

Json pair_json(const WordTrace::Pair& pair) {
    return {{"begin", pair.begin}, {"middle", pair.middle}, {"end", pair.end}, {"rank", pair.rank}, {"id", pair.id}};
}

Json parts_json(const std::vector<WordToken>& parts) {
    Json list = Json::list();
    for (const WordToken& part : parts) list.push_back({{"id", part.id}, {"begin", part.begin}, {"end", part.end}});
    return list;
}

Json trace_json(const WordTrace& trace) {
    Json out = Json::object();
    out["tokens"] = parts_json(trace.tokens);
    if (trace.taken_whole) out["taken_whole"] = true;
    if (!trace.parts.empty()) {
        out["parts"] = parts_json(trace.parts);
        Json joins = Json::list();
        for (const WordTrace::Join& join : trace.joins) {
            Json one = pair_json(join.joined);
            Json pairs = Json::list();
            for (const WordTrace::Pair& pair : join.pairs) pairs.push_back(pair_json(pair));
            one["pairs"] = std::move(pairs);
            joins.push_back(std::move(one));
        }
        out["joins"] = std::move(joins);
    }
    if (!trace.spellings.empty()) {
        Json spellings = Json::list();
        for (const WordTrace::Spelling& one : trace.spellings)
            spellings.push_back({{"id", one.token.id},
                                 {"begin", one.token.begin},
                                 {"end", one.token.end},
                                 {"score", one.score},
                                 {"total", one.total},
                                 {"chosen", one.chosen}});
        out["spellings"] = std::move(spellings);
    }
    if (!trace.look_ups.empty()) {
        Json look_ups = Json::list();
        for (const WordTrace::LookUp& one : trace.look_ups)
            look_ups.push_back({{"begin", one.begin}, {"end", one.end}, {"found", one.found}});
        out["look_ups"] = std::move(look_ups);
    }
    return out;
}

}  // namespace

void print_token_steps(const ModelTokenizer& tokenizer, std::string_view text, const TokenSteps& steps) {
    fmt::print("{}: {} {}\n", shown_text(text), steps.tokens.size(), steps.tokens.size() == 1 ? "token" : "tokens");
    print_stages(steps.stages);
    const PieceList& last = steps.stages.back().list;
    for (const TokenSteps::Word& step : steps.words) {
        const std::string_view word = last.text_of(step.piece);
        if (!step.piece.is_text()) {
            fmt::print("  {} is token {}, taken as it is\n", shown_text(word), step.piece.token);
            continue;
        }
        fmt::print("  {}\n", shown_text(word));
        if (step.trace.taken_whole || !step.trace.parts.empty()) print_joins(word, step.trace);
        print_spellings(word, step.trace);
        print_look_ups(word, step.trace);
    }
    std::string ids;
    for (const EncodedToken& token : steps.tokens)
        ids += fmt::format(" {}{}", token.id,
                           token.from_template ? fmt::format(" ({})", escaped(tokenizer.token_text(token.id).value_or(""))) : "");
    fmt::print("  {:<16}{}\n", "ids", ids);
}

void add_token_steps(const ModelTokenizer& tokenizer, const TokenSteps& steps, Json& line) {
    Json stages = Json::list();
    for (const TextStage& stage : steps.stages) {
        Json pieces = Json::list();
        for (const std::string_view piece : stage_pieces(stage)) pieces.push_back(piece);
        stages.push_back({{"name", stage_name(stage)}, {"pieces", std::move(pieces)}});
    }
    Json words = Json::list();
    for (const TokenSteps::Word& step : steps.words) {
        Json word = step.piece.is_text() ? trace_json(step.trace) : Json::object();
        word["text"] = steps.stages.back().list.text_of(step.piece);
        if (!step.piece.is_text()) word["added_token"] = step.piece.token;
        words.push_back(std::move(word));
    }
    line["model"] = tokenizer.model_type();
    line["stages"] = std::move(stages);
    line["words"] = std::move(words);
}

}  // namespace attn::app
