#include "app/panels/export/copy.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <cmath>
#include <optional>
#include <string>

#include "app/panels/kit/navigation.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/session/document/table_text.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

/// In ASCII, as spreadsheets and programs read it.
std::string copied_number(const Matrix& matrix, std::int64_t row, std::int64_t col) {
    return matrix.masked(row, col) ? std::string() : format_exact(matrix.at(row, col), true);
}

std::string copied_row(const Matrix& matrix, std::int64_t row) {
    std::string text;
    for (std::int64_t col = 0; col < matrix.data.cols; ++col) text += (col > 0 ? "\t" : "") + copied_number(matrix, row, col);
    return text;
}

void tell(PanelContext& context, std::string words, bool failed = false) {
    context.commands.push_back({command::TellFile{std::move(words), failed, NoticeOf::View}, ""});
}

/// A view of its own numbers has no cell to choose: they are copied together, with their names.
void copy_table(PanelContext& context, const ShownNumbers& shown) {
    const std::shared_ptr<const NumberTable> made = shown.make_table();
    const NumberTable& table = *made;
    std::string text = table_text(table.row_axis);
    for (const std::string& column : table.column_texts) text += "\t" + table_text(column);
    for (std::int64_t row = 0; row < table.rows; ++row) {
        text += "\n" + table_text(table.row_texts[static_cast<std::size_t>(row)]);
        for (std::int64_t column = 0; column < table.columns; ++column) {
            const float number = table.numbers[static_cast<std::size_t>(row * table.columns + column)];
            text += "\t" + (std::isnan(number) ? std::string() : format_exact(number, true));
        }
    }
    ImGui::SetClipboardText((text + "\n").c_str());
    tell(context, fmt::format("Copied {}: {} rows of {} numbers.", shown.title, table.rows, table.columns));
}

}  // namespace

void copy_numbers(PanelContext& context, CopyPart part) {
    ShownNumbers shown = shown_numbers(context);
    if (shown.empty()) return tell(context, shown.missing, true);
    if (shown.make_table) return copy_table(context, shown);
    Matrix matrix = std::move(shown.matrix);
    const AxisSelection& selection = context.view.selection();
    const auto chosen = [&](Axis axis, std::int64_t count) -> std::optional<std::int64_t> {
        if (count == 1) return 0;
        const std::optional<std::int64_t> at = selection.on(axis);
        return at && *at < count ? at : std::nullopt;
    };
    const auto row = chosen(matrix.row_axis, matrix.data.rows), col = chosen(matrix.col_axis, matrix.data.cols);
    const std::string& name = shown.title;
    if (part == CopyPart::Map && matrix.in_blocks())
        return tell(context, fmt::format("The map of {} is too large to be copied: export it.", name), true);
    if (row) matrix = context.numbers().with_row(std::move(matrix), *row);
    if (row && !matrix.data.knows(*row, 0)) return tell(context, "This row is still being computed: try again.");
    if (part == CopyPart::Map) {
        std::string text;
        for (std::int64_t r = 0; r < matrix.data.rows; ++r) text += copied_row(matrix, r) + "\n";
        ImGui::SetClipboardText(text.c_str());
        return tell(context, fmt::format("Copied the map of {}: {} rows of {} numbers.", name, matrix.data.rows, matrix.data.cols));
    }
    if (!row || (part == CopyPart::Value && !col)) return tell(context, "Choose a cell first: click it.");
    if (part == CopyPart::Row) {
        ImGui::SetClipboardText(copied_row(matrix, *row).c_str());
        return tell(context, fmt::format("Copied row {} of {}: {} numbers.", *row, name, matrix.data.cols));
    }
    if (matrix.masked(*row, *col)) return tell(context, "This cell is masked: there is no number to copy.");
    const std::string text = copied_number(matrix, *row, *col);
    ImGui::SetClipboardText(text.c_str());
    tell(context, "Copied " + text + ".");
}

void copy_picture(PanelContext& context) { context.view.files.picture = PictureWish{{}, 1, false}; }

}  // namespace attn::app
