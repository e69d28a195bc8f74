#include <fmt/format.h>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

std::string pattern_words(Pattern pattern) {
    switch (pattern) {
    case Pattern::Uniform:
        return "the same weight on every key that may be attended to";
    case Pattern::Previous:
        return "each position attends to the one before it";
    case Pattern::Self:
        return "each position attends to itself";
    case Pattern::First:
        return "each position attends to the first one";
    }
    return "";
}

const char* scaled_part(const Edit& edit, const Shape& shape) {
    if (edit.column != Edit::kAll) return edit.row != Edit::kAll ? " this number." : " this column.";
    if (edit.row != Edit::kAll) return " this row.";
    return shape.rank() == 4 ? " the head." : " the whole stage.";
}

struct Which {
    const std::vector<CellEdit>& edits;
    std::size_t place;
};

template <class Overwrite>
void take_row(Provenance& out, const TraceCells& cells, const StageId& id, const Index& index, const Which& which,
              const Overwrite& overwrite) {
    const Edit& edit = *which.edits[which.place].edit;
    const auto row_axis = static_cast<std::size_t>(cells.shape(id).rank() - 2);
    Index source = index;
    if (edit.from != Edit::kAll) source[row_axis] = edit.from;
    std::string what = "row " + number(source[row_axis]), text;
    if (edit.from_sequence != Edit::kAll) {
        source[0] = edit.from_sequence;
        text = "text " + number(edit.from_sequence + 1);
        what = text + ", " + what;
    }
    const std::string with = cell(cells, id, source) + (text.empty() ? "" : " of " + text);
    const std::string why = ": row " + number(index[row_axis]) + " takes " + what + ".";
    if (cells.edits_of(id, source).empty()) {
        const Operand taken = cells.operand(id, source);
        overwrite(taken.value, with, why);
        out.terms.push_back(single(what, taken));
        return;
    }
    // The source row was edited, too; its number at that moment is derived from the present one.
    double later = 1;
    for (std::size_t i = which.place + 1; i < which.edits.size(); ++i)
        if (which.edits[i].edit->kind == EditKind::Scale) later *= which.edits[i].edit->value;
    overwrite(later == 0 ? 0 : cells.value({id, "", index}) / later, with, why);
}

}  // namespace

void explain_edits(Provenance& out, const TraceCells& cells, const StageId& id, const Index& index) {
    const std::vector<CellEdit> edits = cells.edits_of(id, index);
    if (edits.empty()) return;
    out.edited = true;
    const std::string label = cell(cells, id, index);
    const double computed = out.result;
    const auto overwrite = [&](double value, const std::string& with, std::string why) {
        out.terms.clear();
        out.steps.clear();
        out.omitted_terms = 0;
        out.result = value;
        out.formula = label + " = " + with;
        out.sentence = "Set by you" + std::move(why);
    };
    for (std::size_t i = 0; i < edits.size(); ++i) {
        const Edit& edit = *edits[i].edit;
        switch (edit.kind) {
        case EditKind::Set:
            overwrite(edit.value, fmt::format("{:g}", edit.value), edit.column == Edit::kAll ? ", with its whole row." : ".");
            break;
        case EditKind::Freeze:
            overwrite(edits[i].frozen, fmt::format("{:g}", edits[i].frozen),
                      (edit.row == Edit::kAll ? ": the head is frozen, " : ": the row is frozen, ") + pattern_words(edit.pattern) + ".");
            break;
        case EditKind::TakeRow:
            take_row(out, cells, id, index, {edits, i}, overwrite);
            break;
        case EditKind::Scale:
            out.result = edit.value == 0 ? 0 : out.result * edit.value;
            out.formula += fmt::format(" · {:g}", edit.value);
            out.sentence += std::string(edit.value == 0 ? " You removed" : " You scaled") + scaled_part(edit, cells.shape(id));
            out.steps.push_back({fmt::format("× {:g}", edit.value), out.result, {constant("set by you", edit.value)}});
            break;
        }
    }
    out.steps.push_back({"without your edit", computed, {}});
}

}  // namespace attn::provenance
