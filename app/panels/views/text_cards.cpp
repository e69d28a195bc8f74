#include "app/panels/views/text_cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stage_card.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/panels/views/token_steps.hpp"
#include "app/session/values/token_path.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr int kLines = 3;
constexpr float kBoxGap = 2, kLetterBox = 9;

std::string capitalised(std::string text) {
    if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

/// A few lines into which boxes are put one after another.
class BoxLines {
public:
    BoxLines(const PanelContext& context, const StageCard& card)
        : context_(context), min_(card.picture_min), max_(card.picture_max), x_(min_.x), line_((max_.y - min_.y) / kLines) {}
    /// A box for so many characters; false if there is no room left.
    bool add(float characters, Color fill, Color frame) {
        const float gap = context_.px(kBoxGap);
        const float width = std::min(std::max(characters, 0.5F) * context_.px(kLetterBox), max_.x - min_.x);
        if (x_ + width > max_.x + 1) next_line();
        if (row_ >= kLines) return false;
        const float y = min_.y + static_cast<float>(row_) * line_;
        const ImVec2 low{x_, y + gap / 2}, high{x_ + width - gap, y + line_ - gap};
        ImDrawList& list = *ImGui::GetWindowDrawList();
        if (fill != 0) list.AddRectFilled(low, high, fill, context_.px(2.5F));
        list.AddRect(low, high, frame, context_.px(2.5F));
        x_ += width;
        return true;
    }
    void next_line() {
        x_ = min_.x;
        ++row_;
    }

private:
    const PanelContext& context_;
    ImVec2 min_, max_;
    float x_, line_;
    int row_ = 0;
};

/// The beginning of a text that is not split yet.
void draw_letters(const PanelContext& context, const StageCard& card, const TokenPath::Row& row) {
    const auto& [colors, fonts, scale] = context.theme;
    const float line = (card.picture_max.y - card.picture_min.y) / kLines;
    std::size_t next = 0;
    for (int i = 0; i < kLines && next < row.cells.size(); ++i) {
        std::string text;
        for (; next < row.cells.size(); ++next) {
            const std::string more = text + piece_text(row.cells[next].text);
            if (!text.empty() && text_width(fonts.mono_tiny, more) > card.picture_max.x - card.picture_min.x) break;
            text = more;
        }
        const ImVec2 min{card.picture_min.x, card.picture_min.y + line * static_cast<float>(i)};
        draw_text_in(*ImGui::GetWindowDrawList(), fonts.mono_tiny, min, {card.picture_max.x, min.y + line}, {0, 0.5F}, colors.text,
                     elide(fonts.mono_tiny, text, card.picture_max.x - min.x));
    }
}

void draw_boxes(const PanelContext& context, const StageCard& card, const TokenPath::Row& row) {
    BoxLines lines(context, card);
    for (const TokenPath::Cell& cell : row.bytes ? row.cells : row.pieces)
        if (!lines.add(row.bytes ? 1 : cell.last - cell.first, 0, row.bytes && !cell.same ? context.theme.colors.axis_d : card.ink)) return;
}

/// The shown step of a word and those before it, one per line.
void draw_steps(const PanelContext& context, const StageCard& card, const TokenPath::Word& word, std::size_t shown) {
    const Palette& colors = context.theme.colors;
    BoxLines lines(context, card);
    const std::size_t first = shown + 1 >= kLines ? shown + 1 - kLines : 0;
    for (std::size_t i = first; i < std::min(first + kLines, word.steps.size()); ++i) {
        const TokenPath::Step& step = word.steps[i];
        for (std::size_t part = 0; part < step.parts.size(); ++part) {
            const bool made = i == shown && static_cast<std::int32_t>(part) == step.made;
            const float wide = step.parts[part].last - step.parts[part].first;
            if (!lines.add(wide, made ? colors.chosen : Color{}, made ? colors.chosen : card.ink)) return;
        }
        lines.next_line();
    }
}

void draw_note(const StageCard& card, const PanelContext& context, std::string_view first, std::string_view second) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Fonts& fonts = context.theme.fonts;
    const float line = context.px(15);
    draw_text(list, fonts.mono_small, {card.x, card.bottom - 2 * line - context.px(3)}, card.ink,
              elide(fonts.mono_small, first, card.width));
    draw_text(list, fonts.caption, {card.x, card.bottom - line - context.px(2)}, context.theme.colors.faint,
              elide(fonts.caption, second, card.width));
}

void choose(PanelContext& context, std::size_t stage) {
    ViewState& view = context.view;
    view.stage = {.stage = Stage::Tokens, .stack = view.stage.stack};
    view.view = View::Step;
    view.playing = false;
    view.token_path.table = false;
    view.token_path.stage = stage;
}

bool is_chosen(const PanelContext& context, std::size_t stage) {
    return context.view.stage.stage == Stage::Tokens && context.view.token_path.stage == stage;
}

/// Goes from card to card, or from the pieces to the last card; false if there is none in this direction.
bool step_card(PanelContext& context, int direction) {
    if (context.view.view != View::Step || context.view.stage.stage != Stage::Tokens || !has_token_path(context)) return false;
    const TokenPath* path = shown_token_path(context);
    if (path == nullptr || path->words.empty()) return false;
    const std::size_t pieces = count_text_cards(*path), now = std::min(context.view.token_path.stage.value_or(pieces), pieces);
    if (direction < 0 ? now == 0 : now == pieces) return false;
    const std::size_t next = direction < 0 ? now - 1 : now + 1;
    choose(context, next);
    if (next == pieces) context.view.token_path.stage.reset();
    return true;
}

}  // namespace

const TokenPath* carded_token_path(PanelContext& context, const ModelBlock& block) {
    const Plan& plan = *context.structure().plan;
    if (plan.nodes()[block.first].id.stage != Stage::Tokens || !has_token_path(context)) return nullptr;
    const TokenPath* path = shown_token_path(context);
    return path == nullptr || path->words.empty() ? nullptr : path;
}

std::size_t count_text_cards(const TokenPath& path) { return path.rows.size() + 1; }

void walk_stages(PanelContext& context, int direction) {
    if (!step_card(context, direction)) step_stage(context.view, context.structure(), direction);
}

void draw_text_cards(PanelContext& context, const TokenPath& path, ImVec2 at, ImVec2 size) {
    for (std::size_t i = 0; i < path.rows.size(); ++i, at.x += size.x) {
        const TokenPath::Row& row = path.rows[i];
        const std::string title = capitalised(row.name);
        const StageCard card = draw_stage_card(context, "##text_stage", i, at, size, is_chosen(context, i), title,
                                               fmt::format("{}: {}\nA step from the text to its pieces.", title, row.note));
        if (card.has_picture()) {
            if (row.bytes || !row.pieces.empty()) draw_boxes(context, card, row);
            else draw_letters(context, card, row);
        }
        draw_note(card, context, row.name, row.note);
        if (card.pressed) choose(context, i);
    }
    const TokenPath::Word& word = path.words[std::min(shown_word(context, path), path.words.size() - 1)];
    const std::string of_word = word.steps.empty() ? "a special token" : fmt::format("of “{}”", piece_text(word.text));
    const StageCard card = draw_stage_card(context, "##text_stage", path.rows.size(), at, size, is_chosen(context, path.rows.size()),
                                           path.steps_title, path.rule);
    if (card.has_picture() && !word.steps.empty())
        draw_steps(context, card, word, std::min(context.view.token_path.step.value_or(word.steps.size() - 1), word.steps.size() - 1));
    const std::size_t steps = word.steps.empty() ? 0 : word.steps.size() - 1 + first_number(word);
    draw_note(card, context, fmt::format("{} {}", steps, steps == 1 ? "step" : "steps"), of_word);
    if (card.pressed) choose(context, path.rows.size());
}

}  // namespace attn::app
