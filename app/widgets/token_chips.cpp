#include "app/widgets/token_chips.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kHeight = 38, kHeightWithoutId = 28, kGap = 5, kPadding = 9, kMinWidth = 34;
/// The places beside a row that does not fit, which count the chips beyond its ends.
constexpr float kCount = 40;

struct Layout {
    float height = 0, width = 0;  ///< total size
    std::vector<ImVec2> at;       ///< top left corners, relative to (0, 0)
    std::vector<float> widths;
};

/// Shows the bytes of incomplete characters in hexadecimal, each apart from what is beside it: "h F0 9F 98".
std::string text_with_bytes(std::string_view text) {
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && character_length(text.substr(end)) > 0) end += character_length(text.substr(end));
        if (at > 0) shown += ' ';
        if (end > at) {
            shown += visible_text(text.substr(at, end - at));
        } else {
            std::array<char, 4> byte{};
            std::snprintf(byte.data(), byte.size(), "%02X", static_cast<unsigned>(static_cast<unsigned char>(text[end++])));
            shown += byte.data();
        }
        at = end;
    }
    return shown;
}

}  // namespace

bool has_part_of_character(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = character_length(text.substr(at));
        if (length == 0) return true;
        at += length;
    }
    return false;
}

std::string shown_bytes(std::string_view text) { return has_part_of_character(text) ? text_with_bytes(text) : visible_text(text); }

std::string shown_token(std::string_view text, std::int64_t id) { return text.empty() ? "#" + std::to_string(id) : shown_bytes(text); }

std::string shown_token(const std::vector<std::string>& vocabulary, std::int64_t id) {
    return shown_token(id >= 0 && id < std::ssize(vocabulary) ? std::string_view(vocabulary[static_cast<std::size_t>(id)]) : "", id);
}

std::string chip_text(const Token& token) {
    if (token.padding) return "pad";
    if (token.text.empty() || has_part_of_character(token.text)) return shown_token(token.text, token.id);
    return visible_text(token.text, true);
}

namespace {

/// Whether the text ends within a character, which the following text may complete.
bool ends_within_character(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0U) == 0x80U) continue;
        const std::size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
        return byte <= 0xF4 && whole > back;
    }
    return false;
}

}  // namespace

std::vector<std::string> readable_pieces(std::span<const Token> tokens) {
    std::vector<std::string> pieces;
    bool open = false;
    for (const Token& token : tokens) {
        if (open) pieces.back() += token.text;
        else pieces.push_back(token.text);
        open = ends_within_character(pieces.back());
    }
    for (std::string& piece : pieces) piece = shown_bytes(piece);
    return pieces;
}

void dashed_rect(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, Color color) {
    const float on = ui.px(4), period = ui.px(7), corner = ui.px(4), thick = std::max(1.0f, ui.px(1));
    for (float x = min.x + corner; x < max.x - corner; x += period) {
        const float end = std::min(x + on, max.x - corner);
        list.AddRectFilled(ImVec2(x, min.y), ImVec2(end, min.y + thick), color);
        list.AddRectFilled(ImVec2(x, max.y - thick), ImVec2(end, max.y), color);
    }
    for (float y = min.y + corner; y < max.y - corner; y += period) {
        const float end = std::min(y + on, max.y - corner);
        list.AddRectFilled(ImVec2(min.x, y), ImVec2(min.x + thick, end), color);
        list.AddRectFilled(ImVec2(max.x - thick, y), ImVec2(max.x, end), color);
    }
}

/// Pad tokens have the id of some word, which is not meant.
std::string id_text(const Token& token) {
    if (token.padding) return "";
    return token.place > 0 ? "new " + std::to_string(token.place) : std::to_string(token.id);
}

namespace {

float chip_height(const Ui& ui, const ChipOptions& options) { return ui.px(options.ids ? kHeight : kHeightWithoutId); }

Layout lay_out(const Ui& ui, std::span<const Token> tokens, float width, const ChipOptions& options) {
    Layout layout;
    const float row = chip_height(ui, options), between = ui.px(kGap), padding = ui.px(kPadding), least = ui.px(kMinWidth);
    float x = 0, y = 0;
    layout.at.reserve(tokens.size());
    layout.widths.reserve(tokens.size());
    for (const Token& token : tokens) {
        const float text = std::max(text_width(ui.fonts().mono_body, chip_text(token)),
                                    options.ids ? text_width(ui.fonts().mono_tiny, id_text(token)) : 0.0f);
        const float chip = std::clamp(std::ceil(text) + 2 * padding, least, ui.px(options.max_chip_width));
        if (options.wrap && x > 0 && x + chip > width) {
            x = 0;
            y += row + between;
        }
        layout.at.push_back(ImVec2(x, y));
        layout.widths.push_back(chip);
        x += chip + between;
        layout.width = std::max(layout.width, x - between);
    }
    layout.height = y + row;
    return layout;
}

void draw_outline(const Ui& ui, const Item& item, int index, const ChipMarks& marks) {
    const Palette& c = ui.colors();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool query = marks.query == index, key = marks.key == index;
    if (query || key) {
        list.AddRect(item.min, item.max, query ? c.axis_t : c.axis_s, ui.px(6), 0, ui.px(2));
        // A token can be both: draw the key's colour inside the query's.
        const float in = ui.px(3);
        if (query && key) {
            list.AddRect(ImVec2(item.min.x + in, item.min.y + in), ImVec2(item.max.x - in, item.max.y - in), c.axis_s, ui.px(4), 0,
                         ui.px(2));
        }
    } else if (marks.hovered_query == index || marks.hovered_key == index) {
        list.AddRect(item.min, item.max, with_alpha(marks.hovered_query == index ? c.axis_t : c.axis_s, 0.6f), ui.px(6), 0, ui.px(1.5f));
    } else {
        list.AddRect(item.min, item.max, item.hovered ? c.muted : c.line, ui.px(6), 0, std::max(1.0f, ui.px(1)));
    }
}

void draw_chip(const Ui& ui, const Item& item, const Token& token, int index, const ChipOptions& options) {
    const Palette& c = ui.colors();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool marked = options.marks.query == index || options.marks.key == index;
    const bool part = !token.padding && has_part_of_character(token.text);
    const bool dashed = token.padding || part || token.place > 0;
    if (dashed && !marked) {
        const Color ink = token.padding ? c.line : item.hovered ? c.text : part ? c.axis_d : c.muted;
        dashed_rect(ui, list, item.min, item.max, ink);
    } else {
        list.AddRectFilled(item.min, item.max, item.hovered ? mix(c.pane, c.text, 0.06f) : c.pane, ui.px(6));
        draw_outline(ui, item, index, options.marks);
    }
    const Color ink = token.padding ? c.faint : token.unknown ? c.bad : part ? c.axis_d : c.text;
    const std::string text = elide(ui.fonts().mono_body, chip_text(token), item.width() - ui.px(10));
    if (!options.ids) return draw_text_in(list, ui.fonts().mono_body, item.min, item.max, ImVec2(0.5f, 0.5f), ink, text);
    const float upper = font_size(ui.fonts().mono_body), lower = font_size(ui.fonts().mono_tiny);
    const float top = item.min.y + (item.height() - upper - lower - ui.px(1)) / 2;
    draw_text_in(list, ui.fonts().mono_body, ImVec2(item.min.x, top), ImVec2(item.max.x, top + upper), ImVec2(0.5f, 0), ink, text);
    draw_text_in(list, ui.fonts().mono_tiny, ImVec2(item.min.x, top + upper + ui.px(1)), item.max, ImVec2(0.5f, 0), c.faint,
                 id_text(token));
    if (token.unknown) list.AddCircleFilled(ImVec2(item.max.x - ui.px(6), item.min.y + ui.px(6)), ui.px(2.5f), c.bad, 12);
}

std::string chip_tooltip(const Token& token, int index, const ChipOptions& options) {
    std::string text = "position " + std::to_string(index) + (token.place > 0 ? ", " : ", id ") + id_text(token);
    if (token.padding) return text + "\npadding: fills this sequence up to the length of the longest in the batch";
    text = "\u201C" + shown_token(token.text, token.id) + "\u201D\n" + text;
    if (visible_text(token.text).find("U+") != std::string::npos && token.text.find("U+") == std::string::npos)
        text += "\nU+ and hexadecimal digits: a character missing from the program's fonts";
    if (has_part_of_character(token.text)) text += "\npart of a character, shown as its bytes";
    if (token.unknown) text += "\nnot in the vocabulary: the model sees the unknown token";
    if (token.place > 0) text += "\nnew to this model, which can only follow the word through this text";
    if (!token.typed.empty()) text += "\ntyped as \u201C" + shown_bytes(token.typed) + "\u201D";
    return text + "\n" + options.tooltip;
}

/// Scrolls horizontally with the wheel; keeps the selected chip in view when it, the text or the row's width has changed.
float scroll_offset(const Ui& ui, const Layout& layout, float width, const ChipOptions& options) {
    ImGuiStorage& storage = *ImGui::GetStateStorage();
    float offset = storage.GetFloat(ImGui::GetID("scroll"), 0.0f);
    const int chosen = options.marks.query;
    const auto changes = [&](const char* name, float now) {
        float& before = *storage.GetFloatRef(ImGui::GetID(name), -1);
        return std::exchange(before, now) != now;
    };
    const bool moved = changes("seen", static_cast<float>(chosen)), fits_anew = changes("width", width),
               typed = changes("text", layout.width);
    if ((moved || fits_anew || typed) && chosen >= 0 && chosen < static_cast<int>(layout.at.size())) {
        const auto i = static_cast<std::size_t>(chosen);
        // With a part of its neighbours, as far as there is room. If the chip is wider than the row, show its beginning.
        const float beside = std::clamp((width - layout.widths[i]) / 2, 0.0f, ui.px(24));
        const float begin = layout.at[i].x - beside, end = layout.at[i].x + layout.widths[i] + beside - width;
        offset = std::clamp(offset, std::min(begin, end), begin);
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, ImVec2(at.x + width, at.y + layout.height))) {
        offset -= (ImGui::GetIO().MouseWheel + ImGui::GetIO().MouseWheelH) * ui.px(60);
    }
    offset = std::clamp(offset, 0.0f, std::max(0.0f, layout.width - width));
    storage.SetFloat(ImGui::GetID("scroll"), offset);
    return offset;
}

/// Counts the chips beyond the ends of the row, those that are cut by them included.
void count_hidden(const Layout& layout, float offset, float width, ChipResult& result) {
    for (std::size_t i = 0; i < layout.at.size(); ++i) {
        if (layout.at[i].x < offset - 1) ++result.before;
        else if (layout.at[i].x + layout.widths[i] > offset + width + 1) ++result.after;
    }
}

/// Counts the chips beyond an end of the row, in the key's colour if the key is among them; a click turns one page.
void draw_hidden_count(const Ui& ui, const char* id, ImVec2 at, float height, std::size_t count, bool key, int direction, float page) {
    if (count == 0) return;
    const Palette& c = ui.colors();
    const Item item = item_at(ui, id, at, ImVec2(ui.px(kCount - 6), height),
                              {.tooltip = std::to_string(count) + (count == 1 ? " more token" : " more tokens") + " on this side.",
                               .words = direction < 0 ? "earlier tokens" : "later tokens"});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRect(item.min, item.max, key ? c.axis_s : item.hovered ? c.muted : c.line, ui.px(6), 0, key ? ui.px(2) : 1);
    const std::string text = direction < 0 ? "\u2039" + std::to_string(count) : std::to_string(count) + "\u203A";
    draw_text_in(list, ui.fonts().mono_tiny, item.min, item.max, ImVec2(0.5f, 0.5f), item.hovered ? c.text : c.muted, text);
    draw_focus_ring(ui, item, ui.px(6));
    if (!item.pressed) return;
    ImGuiStorage& storage = *ImGui::GetStateStorage();
    const ImGuiID scroll = ImGui::GetID("scroll");
    storage.SetFloat(scroll, storage.GetFloat(scroll, 0.0f) + static_cast<float>(direction) * page);
}

/// Fades the ends where more chips are hidden.
void draw_scroll_shades(const Ui& ui, ImVec2 at, float width, float height, float hidden_left, float hidden_right) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color solid = ui.colors().window, clear = with_alpha(solid, 0);
    const float shade = ui.px(28);
    if (hidden_left > 0.5f) list.AddRectFilledMultiColor(at, ImVec2(at.x + shade, at.y + height), solid, clear, clear, solid);
    if (hidden_right > 0.5f) {
        list.AddRectFilledMultiColor(ImVec2(at.x + width - shade, at.y), ImVec2(at.x + width, at.y + height), clear, solid, solid, clear);
    }
}

}  // namespace

ChipResult token_chips(const Ui& ui, const char* id, std::span<const Token> tokens, float width, const ChipOptions& options) {
    ChipResult result;
    const Layout layout = lay_out(ui, tokens, width, options);
    const ImVec2 given = ImGui::GetCursorScreenPos();
    const bool scrolls = !options.wrap && layout.width > width && width > 2 * ui.px(kCount) + ui.px(kMinWidth);
    ImVec2 at = given;
    if (scrolls) {
        at.x += ui.px(kCount);
        width -= 2 * ui.px(kCount);
    }
    ImGui::PushID(id);
    ImGui::SetCursorScreenPos(at);
    const float offset = options.wrap ? 0 : scroll_offset(ui, layout, width, options);
    result.width = scrolls ? width + 2 * ui.px(kCount) : std::min(layout.width, width);
    const ImVec2 end(at.x + width, at.y + layout.height);
    // Outlines of selected chips extend slightly beyond the row.
    const float rim = ui.px(2);
    ImGui::PushClipRect(ImVec2(at.x - rim, at.y - rim), ImVec2(end.x + rim, end.y + rim), true);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const ImVec2 min(at.x + layout.at[i].x - offset, at.y + layout.at[i].y);
        const float height = chip_height(ui, options);
        if (!ImGui::IsRectVisible(min, ImVec2(min.x + layout.widths[i], min.y + height))) continue;
        const int index = static_cast<int>(i);
        ImGui::PushID(index);
        const Item item = item_at(ui, "chip", min, ImVec2(layout.widths[i], height), {.explains_itself = true});
        if (item.hovered) {
            result.hovered = index;
            if (ImGui::IsMouseClicked(1)) result.right_clicked = index;
            tooltip_for_last(ui, chip_tooltip(tokens[i], index, options));
        }
        if (item.pressed) result.clicked = index;
        ImGui::PopID();
        draw_chip(ui, item, tokens[i], index, options);
        draw_focus_ring(ui, item, ui.px(6));
    }
    if (!options.wrap) draw_scroll_shades(ui, at, width, layout.height, offset, layout.width - width - offset);
    ImGui::PopClipRect();
    if (scrolls) {
        count_hidden(layout, offset, width, result);
        const int key = options.marks.key;
        draw_hidden_count(ui, "before", given, layout.height, result.before, key >= 0 && key < static_cast<int>(result.before), -1,
                          width - ui.px(60));
        draw_hidden_count(ui, "after", ImVec2(end.x + ui.px(6), given.y), layout.height, result.after,
                          key >= static_cast<int>(tokens.size() - result.after), +1, width - ui.px(60));
    }
    ImGui::SetCursorScreenPos(given);
    ImGui::Dummy(ImVec2(result.width, layout.height));
    const bool beside = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, end) && result.hovered < 0 && !ImGui::IsAnyItemHovered();
    result.background_clicked = beside && ImGui::IsMouseClicked(0);
    ImGui::PopID();
    return result;
}

}  // namespace attn::app
