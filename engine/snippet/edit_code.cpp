/// Applies the user's edits of a stage, after its formula.

#include <fmt/format.h>

#include "engine/snippet/script.hpp"
#include "engine/trace/apply_edit.hpp"

namespace attn::snippet {
namespace {

struct ReachedCells {
    std::vector<std::int64_t> cells, from;
    std::vector<float> frozen;
};

ReachedCells reached_by(const Edit& edit, const RecordedStage<float>& stage) {
    ReachedCells reached;
    EditReach(edit, stage.value.shape(), stage.mask.get()).for_cells([&](const ReachedCell& cell) {
        reached.cells.push_back(cell.cell);
        reached.from.push_back(cell.from);
        reached.frozen.push_back(static_cast<float>(cell.frozen));
    });
    return reached;
}

/// In the code, `flat` is the flattened result.
void write_edit(Script& script, const Edit& edit, const ReachedCells& reached, int number) {
    const auto count = static_cast<std::int64_t>(reached.cells.size());
    const std::string cells = script.integers(fmt::format("cells_{}", number), {count}, reached.cells);
    switch (edit.kind) {
    case EditKind::Set:
        return script.line(fmt::format("flat[{}] = {}", cells, edit.value));
    case EditKind::Scale:
        return script.line(fmt::format("flat[{}] *= {}", cells, edit.value));
    case EditKind::TakeRow:
        return script.line(
            fmt::format("flat[{}] = flat[{}]", cells, script.integers(fmt::format("from_{}", number), {count}, reached.from)));
    case EditKind::Freeze:
        return script.line(fmt::format("flat[{}] = {}", cells, script.numbers(fmt::format("pattern_{}", number), {count}, reached.frozen)));
    }
}

}  // namespace

void write_edits(Script& script) {
    int number = 0;
    for (const Edit& edit : script.trace().settings.edits) {
        if (!edit.on || !(edit.at == script.id())) continue;
        const ReachedCells reached = reached_by(edit, script.result());
        if (reached.cells.empty()) continue;
        const std::string name = script.result_name();
        if (number == 0) {
            script.remark("Edited by hand: cells_N are places in the tensor, row after row.");
            script.line(fmt::format("{0} = np.array({0}, dtype=np.float32, order=\"C\")", name),
                        fmt::format("{0} = {0}.contiguous().clone()", name));
            script.line(fmt::format("flat = {}.reshape(-1)", name), fmt::format("flat = {}.view(-1)", name));
        }
        write_edit(script, edit, reached, ++number);
    }
}

}  // namespace attn::snippet
