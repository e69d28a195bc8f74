#include "app/widgets/markdown.hpp"

#include <imgui.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "app/widgets/text.hpp"
#include "app/widgets/wrapped_lines.hpp"

namespace attn::app {
namespace {

using Kind = MarkdownBlock::Kind;
using Style = TextRun::Style;

constexpr std::string_view kCodeIndent = "    ";

/// The position of the mark that closes a run; npos if there is none.
std::size_t end_of_run(std::string_view text, std::size_t begin, std::string_view mark) { return text.find(mark, begin + mark.size()); }

std::vector<TextRun> parse_runs(std::string_view text) {
    std::vector<TextRun> runs(1);
    const auto add = [&](std::string_view words, Style style) { runs.push_back({std::string(words), style}); };
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        const std::string_view mark = rest.starts_with("**") ? "**" : rest.starts_with("*") ? "*" : rest.starts_with("`") ? "`" : "";
        if (const std::size_t end = mark.empty() ? std::string_view::npos : end_of_run(text, at, mark); end != std::string_view::npos) {
            const std::size_t begin = at + mark.size();
            add(text.substr(begin, end - begin), mark == "`" ? Style::Code : Style::Strong);
            at = end + mark.size();
            continue;
        }
        const std::size_t link = rest.starts_with("[") ? rest.find("](") : std::string_view::npos;
        const std::size_t link_end = link == std::string_view::npos ? link : rest.find(')', link);
        if (link_end != std::string_view::npos) {
            add(rest.substr(1, link - 1), Style::Strong);
            at += link_end + 1;
            continue;
        }
        if (runs.back().style != Style::Plain) runs.emplace_back();
        runs.back().text += text[at++];
    }
    std::erase_if(runs, [](const TextRun& run) { return run.text.empty(); });
    return runs;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

/// "| a | b |" -> {"a", "b"}
std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    line.remove_prefix(1);
    for (std::size_t end = line.find('|'); end != std::string_view::npos; end = line.find('|')) {
        cells.push_back(trimmed(line.substr(0, end)));
        line.remove_prefix(end + 1);
    }
    return cells;
}

/// The item's marker, "- x" -> "•", "12. x" -> "12."; "" if the line does not start an item.
std::string marker_of(std::string_view line) {
    if (line.starts_with("- ")) return "•";
    std::size_t digits = 0;
    while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits])) != 0) ++digits;
    return digits > 0 && line.substr(digits).starts_with(". ") ? std::string(line.substr(0, digits + 1)) : "";
}

class Parser {
public:
    std::vector<MarkdownBlock> run(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            read(text.substr(0, end));
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        }
        finish();
        return std::move(blocks_);
    }

private:
    void read(std::string_view line) {
        if (trimmed(line).empty()) return finish();
        if (line.starts_with('#')) return heading(line);
        if (line.starts_with('|')) return row(line);
        if (line.starts_with(kCodeIndent) && !open_) {
            blocks_.push_back({Kind::Code, 0, "", {{{std::string(line.substr(kCodeIndent.size())), Style::Code}}}});
            return;
        }
        if (const std::string marker = marker_of(line); !marker.empty()) {
            finish();
            block_ = {Kind::Item, 0, marker, {}};
            line.remove_prefix(line.find(' ') + 1);
        }
        words_ += (words_.empty() ? "" : " ") + std::string(trimmed(line));
        open_ = true;
    }

    void heading(std::string_view line) {
        finish();
        const std::size_t level = line.find_first_not_of('#');
        if (level != std::string_view::npos)
            blocks_.push_back({Kind::Heading, static_cast<int>(level), "", {parse_runs(trimmed(line.substr(level)))}});
    }

    void row(std::string_view line) {
        finish();
        const std::vector<std::string_view> cells = cells_of(line);
        if (!cells.empty() && cells.front().starts_with("---")) {
            if (!blocks_.empty() && blocks_.back().kind == Kind::Row) blocks_.pop_back();
            return;
        }
        blocks_.push_back({Kind::Row, 0, "", {}});
        for (const std::string_view cell : cells) blocks_.back().cells.push_back(parse_runs(cell));
    }

    void finish() {
        if (!open_) return;
        block_.cells = {parse_runs(words_)};
        blocks_.push_back(std::exchange(block_, {}));
        words_.clear();
        open_ = false;
    }

    std::vector<MarkdownBlock> blocks_;
    MarkdownBlock block_;  ///< being parsed
    std::string words_;    ///< its text
    bool open_ = false;
};

/// Lays out and draws runs word by word, wrapped at a width. A word may have several styles, such as code with a comma after it.
class RunWriter {
public:
    RunWriter(const Ui& ui, ImVec2 at, float width) : ui_(ui), at_(at), width_(width), list_(*ImGui::GetWindowDrawList()) {}

    void write(std::span<const TextRun> runs, ImFont* plain, Color color) {
        plain_ = plain;
        for (const TextRun& run : runs) {
            ImFont* font = run.style == Style::Code ? ui_.fonts().mono : run.style == Style::Strong ? ui_.fonts().strong : plain;
            const Color ink = run.style == Style::Code ? ui_.colors().accent : color;
            for (std::string_view text = run.text; !text.empty();) {
                const std::size_t end = std::min(text.find(' '), text.size());
                if (end == 0) end_word();
                else word_.push_back({text.substr(0, end), font, ink});
                text.remove_prefix(std::max<std::size_t>(end, 1));
            }
        }
        end_word();
    }
    float height() const { return y_ + line_height(); }

private:
    struct Piece {
        std::string_view text;
        ImFont* font;
        Color color;
    };

    float line_height() const { return std::round(text_height(plain_) * 1.4F); }
    static float text_height(const ImFont* font) { return font->FontSize * font->Scale; }

    void end_word() {
        if (word_.empty()) return;
        float wide = 0;
        for (const Piece& piece : word_) wide += text_width(piece.font, piece.text);
        if (x_ > 0) x_ += text_width(plain_, " ");
        if (x_ > 0 && x_ + wide > width_) {
            x_ = 0;
            y_ += line_height();
        }
        for (const Piece& piece : word_) {
            const float lower = (text_height(plain_) - text_height(piece.font)) / 2;
            draw_text(list_, piece.font, {at_.x + x_, std::round(at_.y + y_ + lower)}, piece.color, piece.text);
            x_ += text_width(piece.font, piece.text);
        }
        word_.clear();
    }

    const Ui& ui_;
    ImVec2 at_;
    float width_;
    ImDrawList& list_;
    ImFont* plain_ = nullptr;
    std::vector<Piece> word_;  ///< not drawn yet
    float x_ = 0, y_ = 0;
};

/// Draws a block and returns its height.
float draw_block(const Ui& ui, const MarkdownBlock& block, ImVec2 at, float width) {
    const Fonts& fonts = ui.fonts();
    const Color color = ui.colors().text;
    if (block.kind == Kind::Heading) {
        RunWriter writer(ui, at, width);
        writer.write(block.cells.front(), block.level == 1 ? fonts.heading : fonts.title, color);
        return writer.height();
    }
    if (block.kind == Kind::Code) {
        // White space matters; what does not fit on a line goes on below, further to the right.
        float height = 0;
        for (const std::string_view line : wrapped_lines(fonts.mono, block.cells.front().front().text, width - ui.px(42))) {
            const float left = ui.px(height > 0 ? 42 : 14);
            draw_text(*ImGui::GetWindowDrawList(), fonts.mono, {at.x + left, at.y + height}, ui.colors().accent, line);
            height += std::round(ui.px(20));
        }
        return height;
    }
    const float indent = block.kind == Kind::Item ? ui.px(24) : 0;
    if (block.kind == Kind::Item) draw_text(*ImGui::GetWindowDrawList(), fonts.body, at, ui.colors().muted, block.marker);
    float height = 0;
    for (std::size_t i = 0; i < block.cells.size(); ++i) {
        if (block.cells[i].empty()) continue;
        const float left = indent + (i > 0 ? ui.px(24) : 0);
        RunWriter writer(ui, {at.x + left, at.y + height}, width - left);
        writer.write(block.cells[i], fonts.body, color);
        height += writer.height();
    }
    return height;
}

/// The space between a block and the one before it.
float room_above(const MarkdownBlock& block, const MarkdownBlock& before) {
    if (block.kind == Kind::Heading) return 22;
    if (block.kind == Kind::Code && before.kind == Kind::Code) return 0;
    return block.kind == before.kind && block.kind != Kind::Paragraph ? 5 : 12;
}

}  // namespace

std::string MarkdownBlock::text() const {
    std::string all;
    for (const std::vector<TextRun>& cell : cells) {
        if (!all.empty()) all += ' ';
        for (const TextRun& run : cell) all += run.text;
    }
    return all;
}

std::vector<MarkdownBlock> parse_markdown(std::string_view text) { return Parser().run(text); }

void draw_markdown(const Ui& ui, std::span<const MarkdownBlock> blocks) {
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    float y = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i > 0) y += ui.px(room_above(blocks[i], blocks[i - 1]));
        y += draw_block(ui, blocks[i], {origin.x, origin.y + y}, width);
    }
    ImGui::Dummy({width, y});
}

}  // namespace attn::app
