#include "app/panels/views/token_piece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/panels/kit/stage_words.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/session/values/near_tokens.hpp"
#include "app/session/values/other_tokens.hpp"
#include "app/session/values/token_path.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

/// Beyond so many bytes, a character spread over several pieces is not drawn.
constexpr std::size_t kMostDrawnBytes = 12;

/// The tokens of the shown text, and how they were made.
struct PiecesShown {
    const std::vector<Token>* tokens = nullptr;
    std::shared_ptr<const TokenPath> path;            ///< null: not known (yet)
    std::shared_ptr<const OtherTokens> kept_other{};  ///< owns the above for the other tokenizer
    const Token* token(std::size_t place) const { return tokens != nullptr && place < tokens->size() ? &(*tokens)[place] : nullptr; }
    const TokenPath::Piece* piece(std::size_t place) const {
        return path != nullptr && place < path->pieces.size() ? &path->pieces[place] : nullptr;
    }
};

const std::vector<Token>* own_tokens(const PanelContext& context) {
    const auto& sequences = context.view.shown_text().source ? context.snapshot.source_tokens : context.snapshot.tokens;
    if (sequences.empty()) return nullptr;
    return &sequences[static_cast<std::size_t>(
        std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(sequences.size()) - 1))];
}

PiecesShown pieces_shown(const PanelContext& context, bool of_other) {
    PiecesShown shown;
    if (of_other) {
        shown.kept_other = context.view.token_path.last_other;
        shown.tokens = &shown.kept_other->tokens;
        shown.path = {shown.kept_other, &shown.kept_other->path};
        return shown;
    }
    shown.tokens = own_tokens(context);
    if (has_token_path(context)) shown.path = context.ask(facet::TokenPath{context.view.shown_text()}).value;
    return shown;
}

std::string hex_of(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) out += fmt::format("{}{:02X}", out.empty() ? "" : " ", static_cast<unsigned char>(c));
    return out;
}

std::string times_words(std::size_t times) { return times == 1 ? "once" : times == 2 ? "twice" : fmt::format("{} times", times); }

/// "5 to 8", or one number.
std::string range_words(std::size_t begin, std::size_t end) { return fmt::format("{} to {}", begin, end); }

/// A fact in one line; a value that is too long is shortened and shown whole in the tooltip.
void draw_fact(const PanelContext& context, std::string_view label, const std::string& value, std::string_view about = {}) {
    const float room = ImGui::GetContentRegionAvail().x - text_width(context.theme.fonts.label, label) - context.px(12);
    const std::string shown = elide(context.theme.fonts.mono, value, std::max(room, context.px(60)));
    std::string tooltip(about);
    if (shown != value) tooltip = value + (tooltip.empty() ? "" : "\n" + tooltip);
    value_row(context.ui(), label, shown, tooltip);
}

/// Bytes in one line if they fit, otherwise below their number.
void draw_bytes(const PanelContext& context, std::string_view bytes) {
    const Fonts& fonts = context.theme.fonts;
    const std::string hex = hex_of(bytes);
    if (text_width(fonts.mono, hex) < ImGui::GetContentRegionAvail().x - context.px(60)) {
        // “36” alone would read as a number of bytes.
        if (bytes.size() == 1) draw_fact(context, "byte", "0x" + hex, "In hexadecimal.");
        else draw_fact(context, "bytes", hex, "In hexadecimal, as UTF-8.");
        return;
    }
    draw_fact(context, "bytes", fmt::format("{}", bytes.size()), "In hexadecimal, as UTF-8.");
    paragraph(context.ui(), fonts.mono_small, context.theme.colors.text, hex);
    gap(context.ui(), 4);
}

/// Whether a piece and the next share a character. Spaces that a tokenizer puts before words do not count, though they have no place of
/// their own.
bool shares_next(const TokenPath& path, std::size_t place) {
    if (place + 1 >= path.pieces.size()) return false;
    const TokenPath::Piece &piece = path.pieces[place], &next = path.pieces[place + 1];
    return piece.last_character > 0 && next.first_character > 0 && piece.last_character >= next.first_character &&
           has_part_of_character(piece.bytes) && has_part_of_character(next.bytes);
}

/// The pieces first..last that share characters with this one.
std::pair<std::size_t, std::size_t> sharing(const TokenPath& path, std::size_t place) {
    std::size_t first = place, last = place;
    while (first > 0 && shares_next(path, first - 1)) --first;
    while (shares_next(path, last)) ++last;
    return {first, last};
}

/// Whether the font of formulas has all letters: it has few beside ASCII and the sign for a space.
bool is_in_large_font(std::string_view text) {
    constexpr std::string_view kSpace = "␣";
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text.substr(at, kSpace.size()) == kSpace) at += kSpace.size() - 1;
        else if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
    }
    return true;
}

void draw_title_of_piece(const PanelContext& context, const Token& token) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, high = context.px(24);
    const std::string id = std::to_string(token.id);
    const float room = width - text_width(fonts.mono_body, id) - context.px(12);
    const std::string text = chip_text(token);
    ImFont* font = is_in_large_font(text) && text_width(fonts.formula, text) <= room ? fonts.formula : fonts.mono_body;
    draw_text_in(list, font, at, {at.x + room, at.y + high}, {0, 0.5F}, token.unknown ? colors.bad : colors.chosen_text,
                 elide(font, text, room));
    draw_text_in(list, fonts.mono_body, at, {at.x + width, at.y + high}, {1, 0.5F}, colors.text, id);
    ImGui::Dummy({width, high + context.px(6)});
}

bool is_space_put_before(const TokenPath::Piece& piece) {
    return !piece.bytes.empty() && piece.bytes.find_first_not_of(' ') == std::string::npos && !piece.typed.empty() &&
           piece.typed.find(' ') == std::string::npos;
}

/// The bytes of the text that the piece stands for: of characters that pieces share, its part, if their bytes are those typed.
std::pair<std::size_t, std::size_t> bytes_of(const TokenPath& path, std::size_t place) {
    const auto [first, last] = sharing(path, place);
    std::size_t before = 0, all = 0;
    for (std::size_t i = first; i <= last; ++i) {
        if (i < place) before += path.pieces[i].bytes.size();
        all += path.pieces[i].bytes.size();
    }
    const TokenPath::Piece& piece = path.pieces[place];
    const std::size_t begin = path.pieces[first].begin;
    if (first == last || all != path.pieces[last].end - begin) return {piece.begin, piece.end};
    return {begin + before, begin + before + piece.bytes.size()};
}

/// Where the piece is in the typed text.
void draw_place(const PanelContext& context, const TokenPath& path, std::size_t place, const Token& token, bool shared) {
    const TokenPath::Piece& piece = path.pieces[place];
    if (piece.last_character == 0) return;
    if (is_space_put_before(piece)) {
        draw_fact(context, "not typed, before", piece_text(piece.typed), "A space that the tokenizer puts before a word.");
        return;
    }
    if (const std::string typed = piece_text(piece.typed); shared || typed != chip_text(token))
        draw_fact(context, shared ? "part of" : "typed", typed, "The typed characters that it comes from.");
    constexpr std::string_view kCounted = "In the typed text, counted from 0; the end is not included.";
    draw_fact(context, "characters", range_words(piece.first_character - 1, piece.last_character), kCounted);
    const auto [begin, end] = bytes_of(path, place);
    draw_fact(context, "bytes of the text", range_words(begin, end), kCounted);
}

/// How the piece was made, in numbers.
void draw_making(const PanelContext& context, const TokenPath::Piece& piece, const TokenizerFacts& tokenizer) {
    if (!piece.merges.empty())
        draw_fact(
            context, "made by merge",
            fmt::format("{} of {}", format_count(piece.merges.back().rank), format_count(static_cast<std::int64_t>(tokenizer.merges))),
            "Its rank: the place in the merge list, from 0.");
    if (piece.score) draw_fact(context, "score", format_number(*piece.score, {.decimals = 3}), "The logarithm of its probability.");
    if (piece.tried > 0)
        draw_fact(context, "look-ups", fmt::format("{}", piece.tried),
                  "How many candidates were looked up in the vocabulary until one was found.");
    if (piece.added) draw_fact(context, "added token", piece.special ? "special" : "yes", "Special tokens are left out of decoded text.");
    else if (piece.word >= 0) draw_fact(context, "starts a word", piece.starts_word ? "yes" : "no");
    if (piece.times > 0) draw_fact(context, "in this text", times_words(piece.times), "How often its id occurs.");
}

void draw_merges(const PanelContext& context, const TokenPath::Piece& piece) {
    if (piece.merges.empty()) return;
    gap(context.ui(), 10);
    section_heading(context.ui(), "Merges and their ranks");
    const Palette& colors = context.theme.colors;
    ImFont* font = context.theme.fonts.mono;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(22);
    for (const TokenPath::Merge& merge : piece.merges) {
        const ImVec2 at = ImGui::GetCursorScreenPos(), end{at.x + width, at.y + line};
        const std::string rank = format_count(merge.rank);
        const Color ink = &merge == &piece.merges.back() ? colors.chosen_text : colors.text;
        draw_text_in(list, font, at, end, {0, 0.5F}, ink,
                     elide(font, piece_text(merge.left, merge.right), width - text_width(font, rank) - context.px(12)));
        draw_text_in(list, font, at, end, {1, 0.5F}, ink, rank);
        ImGui::SetCursorScreenPos({at.x, end.y});
    }
    ImGui::Dummy({width, 1});
}

/// A bracket over or under [left, right) with a text.
void draw_bracket(const PanelContext& context, float left, float right, float y, bool above, Color color, const std::string& text) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = context.theme.fonts.mono_small;
    const float tip = context.px(above ? 5 : -5), inset = context.px(2), row = context.px(16);
    const std::string shown = text_width(font, text) <= right - left ? text : elide(font, text, right - left);
    list.AddLine({left + inset, y}, {right - inset, y}, color, context.px(1.5F));
    for (const float x : {left + inset, right - inset}) list.AddLine({x, y}, {x, y + tip}, color, context.px(1.5F));
    const float top = above ? y - row - inset : y + inset;
    draw_text_in(list, font, {left, top}, {right, top + row}, {0.5F, 0.5F}, context.theme.colors.text, shown);
}

/// Draws bytes in boxes, with the characters they make above, and the pieces that hold them below.
void draw_byte_boxes(const PanelContext& context, const TokenPath& path, const std::vector<Token>& tokens,
                     std::pair<std::size_t, std::size_t> places, const std::string& bytes) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float all = ImGui::GetContentRegionAvail().x, each = std::min(all / static_cast<float>(bytes.size()), context.px(52));
    const float top = at.y + context.px(26), high = context.px(28);
    const auto edge = [&](std::size_t byte) { return at.x + each * static_cast<float>(byte); };
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = std::max<std::size_t>(character_length(std::string_view(bytes).substr(i)), 1);
        if (length > 1)
            draw_bracket(context, edge(i), edge(i + length), top - context.px(6), true, colors.muted,
                         piece_text(std::string_view(bytes).substr(i, length)));
        for (std::size_t j = i; j < i + length; ++j) {
            list.AddRectFilled({edge(j), top}, {edge(j + 1), top + high}, colors.raised);
            list.AddRect({edge(j), top}, {edge(j + 1), top + high}, colors.line);
            draw_text_in(list, fonts.mono_small, {edge(j), top}, {edge(j + 1), top + high}, {0.5F, 0.5F},
                         length > 1 ? colors.axis_d : colors.text, hex_of(std::string_view(bytes).substr(j, 1)));
        }
        i += length;
    }
    std::size_t byte = 0;
    for (std::size_t i = places.first; i <= places.second; ++i) {
        const std::size_t end = byte + path.pieces[i].bytes.size();
        draw_bracket(context, edge(byte), edge(end), top + high + context.px(6), false, colors.axis_d, std::to_string(tokens[i].id));
        byte = end;
    }
    ImGui::Dummy({all, context.px(26 + 28 + 30)});
}

/// A character that is spread over several pieces.
void draw_shared_characters(const PanelContext& context, const PiecesShown& shown, std::size_t place) {
    const auto places = sharing(*shown.path, place);
    if (places.first == places.second || places.second >= shown.tokens->size()) return;
    std::string bytes;
    for (std::size_t i = places.first; i <= places.second; ++i) bytes += shown.path->pieces[i].bytes;
    gap(context.ui(), 10);
    section_heading(context.ui(), "Half a character");
    if (bytes.size() <= kMostDrawnBytes) draw_byte_boxes(context, *shown.path, *shown.tokens, places, bytes);
    paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint,
              fmt::format("{} pieces share these bytes. A piece that ends within a character is not text by itself.",
                          places.second - places.first + 1));
}

void draw_facts(const PanelContext& context, const PiecesShown& shown, std::size_t place, const Token& token) {
    const TokenPath::Piece* piece = shown.piece(place);
    if (token.padding)
        return paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint,
                         "Padding: fills this text up to the length of the longest.");
    draw_fact(context, "position", std::to_string(place), "Counted from 0.");
    if (piece == nullptr) {
        draw_bytes(context, token.text);
        const auto real = std::count_if(shown.tokens->begin(), shown.tokens->end(), [](const Token& one) { return !one.padding; });
        const bool written = static_cast<std::int64_t>(place) >= real - written_after_text(context);
        return paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint,
                         written                   ? "Written after the text: chosen from what the model predicted."
                         : has_token_path(context) ? "How it was made is being worked out."
                                                   : "This tokenizer finds its tokens in one step: there are no merges and no scores.");
    }
    const bool shared = shares_next(*shown.path, place) || (place > 0 && shares_next(*shown.path, place - 1));
    if (!piece->bytes.empty()) draw_bytes(context, piece->bytes);
    if (!piece->spelling.empty() && piece->spelling != piece->bytes)
        draw_fact(context, "in the vocabulary", visible_text(piece->spelling), "As the vocabulary spells it.");
    draw_place(context, *shown.path, place, token, shared);
    draw_making(context, *piece, shown.path->tokenizer);
    gap(context.ui(), 6);
    paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint, piece->origin);
    draw_merges(context, *piece);
    draw_shared_characters(context, shown, place);
}

/// Draws the tokens whose embeddings are nearest to the piece's, with bars for their cosines.
void draw_nearest(const PanelContext& context, const Token& token) {
    if (token.padding) return;
    const auto near = context.ask(facet::NearTokens{context.view.stage.stack, token.id});
    gap(context.ui(), 10);
    section_heading(context.ui(), "Nearest by vector");
    const auto& [colors, fonts, scale] = context.theme;
    if (!near || near->nearest.empty()) {
        const char* none = "Its vector is 0 or not a number, so no other is near it.";
        return paragraph(context.ui(), fonts.label, colors.faint, near ? none : near.computing() ? "Computing …" : near.problem.c_str());
    }
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(22), name = width * 0.36F, figure = context.px(52);
    const ImVec2 first = ImGui::GetCursorScreenPos();
    for (const NearToken& one : near->nearest) {
        const ImVec2 at = ImGui::GetCursorScreenPos(), end{at.x + width, at.y + line};
        const float left = at.x + name + context.px(8), room = end.x - figure - left;
        draw_text_in(list, fonts.mono, at, {at.x + name, end.y}, {1, 0.5F}, colors.text,
                     elide(fonts.mono, chip_text({one.text, one.id, false, false}), name));
        list.AddRectFilled({left, at.y + context.px(5)},
                           {left + room * static_cast<float>(std::clamp(one.cosine, 0.0, 1.0)), end.y - context.px(5)}, colors.accent,
                           context.px(2));
        draw_text_in(list, fonts.mono_small, {end.x - figure, at.y}, end, {1, 0.5F}, colors.text,
                     format_number(one.cosine, {.decimals = 2, .fixed = true}));
        ImGui::SetCursorScreenPos({at.x, end.y});
    }
    const ImVec2 all{width, line * static_cast<float>(near->nearest.size())};
    ImGui::SetCursorScreenPos(first);
    ImGui::Dummy(all);
    item_at(context.ui(), "##nearest", first, all,
            {.tooltip = "The cosine between rows of the embedding table: 1 for the same direction, 0 for unrelated ones."});
}

/// Separated by commas and spaces, as in a list of most programming languages.
void copy_ids(PanelContext& context, const std::vector<Token>& tokens) {
    std::string text;
    std::size_t count = 0;
    for (const Token& token : tokens) {
        if (token.padding) continue;
        text += (count++ == 0 ? "" : ", ") + std::to_string(token.id);
    }
    ImGui::SetClipboardText(text.c_str());
    context.commands.push_back({command::TellFile{fmt::format("Copied {} id{}.", count, count == 1 ? "" : "s"), false}, ""});
}

}  // namespace

std::string piece_text(std::string_view piece, std::string_view joined_with) {
    std::string text = chip_text({std::string(piece), 0, false, false});
    return joined_with.empty() ? text : text + " + " + chip_text({std::string(joined_with), 0, false, false});
}

std::int64_t written_after_text(const PanelContext& context) {
    if (context.view.shown_text().source || context.snapshot.state == nullptr) return 0;
    const Written& written = context.snapshot.state->setup->written;
    return written.sequence == context.view.batch ? std::ssize(written.ids) : 0;
}

std::optional<ChosenPiece> chosen_piece(const PanelContext& context) {
    const TokenPathState& state = context.view.token_path;
    const bool hovers = context.view.hovered.on(Axis::T).has_value();
    if (!hovers && state.of_other && state.other_piece && state.last_other != nullptr &&
        *state.other_piece < state.last_other->tokens.size())
        return ChosenPiece{*state.other_piece, true};
    const std::vector<Token>* tokens = own_tokens(context);
    auto place = context.view.selection().on(Axis::T);
    if (!place) place = context.view.locked.on(Axis::T);
    if (!place || tokens == nullptr || *place < 0 || *place >= static_cast<std::int64_t>(tokens->size())) return std::nullopt;
    return ChosenPiece{static_cast<std::size_t>(*place), false};
}

void draw_token_piece(PanelContext& context) {
    const std::optional<ChosenPiece> chosen = chosen_piece(context);
    const PiecesShown shown = pieces_shown(context, chosen && chosen->of_other);
    const std::string noun(chosen && chosen->of_other ? "piece" : token_noun(context.snapshot));
    const std::string whose =
        chosen && chosen->of_other ? " · " + visible_text(context.view.token_path.last_other->name, true) : std::string();
    section_heading(context.ui(), (context.view.hovered.empty() && chosen ? "Selected " : "This ") + noun + whose);
    if (!chosen || shown.token(chosen->place) == nullptr) {
        paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted,
                  fmt::format("Point at a {} to see what is known about it. Click to select it, Esc to deselect.", noun));
    } else {
        draw_title_of_piece(context, *shown.token(chosen->place));
        draw_facts(context, shown, chosen->place, *shown.token(chosen->place));
        if (!chosen->of_other) draw_nearest(context, *shown.token(chosen->place));
    }
    if (shown.tokens == nullptr || shown.tokens->empty()) return;
    gap(context.ui(), 12);
    if (button(context.ui(), "Copy the ids", {.notes = {.tooltip = "Copies the ids of all pieces of this text, separated by commas."}}))
        copy_ids(context, *shown.tokens);
}

}  // namespace attn::app
