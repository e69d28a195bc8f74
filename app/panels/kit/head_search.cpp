#include "app/panels/kit/head_search.hpp"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <vector>

namespace attn::app {
namespace {

/// With fewer repeated tokens the score is not meaningful.
constexpr std::int64_t kFewestRepeats = 4;

constexpr std::array<PatternInfo, 5> kPatternInfos = {{
    {"first token", "sink", "first token sinks",
     "Weight on the first token of the text. A head that puts most of it there is called a sink: it parks attention that it does not need, "
     "and does next to nothing at that position."},
    {"previous token", "previous", "previous token", "Weight on the token just before the query."},
    {"after a repeat", "repeat", "after a repeat induction",
     "Weight on what followed an earlier occurrence of the same token, where at least four queries have one. Induction heads show it, but "
     "the pattern alone proves nothing: a single layer can produce it from positions."},
    {"same token", "same", "same token itself", "Weight on the query's own position."},
    {"alignment", "alignment", "alignment aligned",
     "For cross-attention: the weight that each target token puts on a source token of its own, on average. A head with nearly all of it "
     "there shows which source token each target token corresponds to; several targets on one source token count once."},
}};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Splits into lower-case runs of letters and of digits: "L5H3, sink" gives l 5 h 3 sink.
std::vector<std::string> pieces_of_query(std::string_view typed) {
    std::vector<std::string> pieces;
    bool goes_on = false;
    for (const char c : typed) {
        const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
        if (!letter && !is_digit(c)) {
            goes_on = false;
            continue;
        }
        if (!goes_on || is_digit(pieces.back().front()) != is_digit(c)) pieces.emplace_back();
        pieces.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        goes_on = true;
    }
    return pieces;
}

std::optional<std::int64_t> number_of(const std::string& piece) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), number);
    if (error != std::errc() || end != piece.data() + piece.size()) return std::nullopt;
    return number;
}

bool begins_a_word(std::string_view words, std::string_view beginning) {
    for (std::size_t at = words.find(beginning); at != std::string_view::npos; at = words.find(beginning, at + 1))
        if (at == 0 || words[at - 1] == ' ') return true;
    return false;
}

/// The attention letter that a word stands for; 0: none.
char attention_of(std::string_view word) {
    if (word == "e" || word == "encoder") return 'E';
    if (word == "d" || word == "decoder") return 'D';
    return word == "x" || word == "cross" ? 'X' : '\0';
}

/// The first pattern for which every given word is the beginning of one of its words.
std::string_view pattern_of(const std::vector<std::string>& words) {
    for (const PatternInfo& pattern : kPatternInfos)
        if (std::all_of(words.begin(), words.end(), [&](const std::string& word) { return begins_a_word(pattern.words, word); }))
            return pattern.name;
    return {};
}

}  // namespace

std::span<const PatternInfo> head_patterns() { return kPatternInfos; }

bool has_pattern(const HeadScore& score, std::string_view pattern) {
    if (score.rows == 0 || (score.id.attention == kCrossAttention) != (pattern == "alignment")) return false;
    return pattern != "after a repeat" || score.induction_rows >= kFewestRepeats;
}

double pattern_share(const HeadScore& score, std::string_view pattern) {
    if (!has_pattern(score, pattern)) return 0;
    if (pattern == "previous token") return score.previous_token;
    if (pattern == "first token") return score.first_token;
    if (pattern == "same token") return score.same_token;
    if (pattern == "after a repeat") return score.induction;
    return score.alignment;
}

char attention_letter(const StageId& weights) {
    if (weights.attention == kCrossAttention) return 'X';
    return weights.stack == Stack::Encoder ? 'E' : weights.stack == Stack::Decoder ? 'D' : 'L';
}

bool HeadQuery::fits(const HeadScore& score) const {
    if (attention != 0 && attention != attention_letter(score.id)) return false;
    if (!unknown.empty() || (layer && *layer != score.id.layer) || (head && *head != score.head)) return false;
    return pattern.empty() || pattern_share(score, pattern) > kShowsPattern;
}

HeadQuery read_head_query(std::string_view typed) {
    HeadQuery query;
    std::vector<std::string> words;
    const std::vector<std::string> pieces = pieces_of_query(typed);
    std::optional<std::int64_t>* next = nullptr;
    for (const std::string& piece : pieces) {
        const bool layer = piece == "l" || piece == "layer", head = piece == "h" || piece == "head";
        if (const char attention = attention_of(piece); attention != 0 && query.attention == 0) {
            query.attention = attention;
            next = &query.layer;
            continue;
        }
        if (layer || head) {
            next = layer ? &query.layer : &query.head;
            continue;
        }
        if (!is_digit(piece.front())) {
            words.push_back(piece);
            continue;
        }
        // The first bare number is the layer, the second the head.
        std::optional<std::int64_t>& place = next != nullptr ? *next : query.layer ? query.head : query.layer;
        if (place || !number_of(piece)) query.unknown = piece;
        else place = number_of(piece);
        next = nullptr;
    }
    if (!words.empty()) query.pattern = pattern_of(words);
    if (!words.empty() && query.pattern.empty() && query.unknown.empty()) query.unknown = words.front();
    return query;
}

void draw_pattern_icon(ImDrawList& list, ImVec2 min, float size, std::string_view pattern, Color color) {
    const ImVec2 max{min.x + size, min.y + size};
    const float thick = std::max(1.F, size / 9), part = size / 4;
    list.AddRect(min, max, color, size / 6);
    list.PushClipRect(min, max, true);
    const auto diagonal = [&](float down) { list.AddLine({min.x, min.y + down}, {max.x, max.y + down}, color, thick); };
    if (pattern == "first token") list.AddRectFilled({min.x + thick, min.y}, {min.x + part, max.y}, color);
    else if (pattern == "previous token") diagonal(part);
    else if (pattern == "same token") diagonal(0);
    else if (pattern == "after a repeat") diagonal(2 * part);
    else
        for (const float row : {0.25F, 0.5F, 0.75F})
            list.AddLine({min.x + size * (1 - row) - part / 2, min.y + size * row},
                         {min.x + size * (1 - row) + part / 2, min.y + size * row}, color, thick);
    list.PopClipRect();
}

}  // namespace attn::app
