/// Runs every stage's snippet in Python: NumPy itself and, for PyTorch, either an installed PyTorch or tests/support/torch_stand_in.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/session/document/presets.hpp"
#include "app/session/files/stage_snippet.hpp"
#include "app/session/session.hpp"
#include "engine/io/npz.hpp"
#include "engine/snippet/python_text.hpp"
#include "tests/support/python.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

using attn::app::test::TemporaryFolder;
using attn::test::PythonOutcome;
using attn::test::run_python;
using attn::test::torch_path;

constexpr const char* kRunAll = R"(
import pathlib, warnings
warnings.simplefilter('error')
count, failures = 0, []
for file in sorted(pathlib.Path('.').glob('stage_*.py')):
    count += 1
    try:
        exec(compile(file.read_text(encoding='utf-8'), file.name, 'exec'), {})
    except BaseException as error:
        failures.append(f'{file.name}: {error!r}')
assert not failures, '\n'.join(failures)
print('ran', count)
)";

std::shared_ptr<const Snapshot> computed(const Document& document) {
    Session session(document, [] {});
    auto snapshot = session.wait();
    EXPECT_EQ(snapshot->problem, "");
    return snapshot;
}

void put(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

std::string dialect_name(SnippetDialect dialect) { return dialect == SnippetDialect::NumPy ? "numpy" : "torch"; }

/// Writes one file per stage and dialect, with operands in a separate file if requested; returns their number. `of` becomes part of their
/// names.
std::size_t write_all(const Snapshot& snapshot, const std::filesystem::path& folder, const std::string& of, bool operands_in_file) {
    std::size_t count = 0;
    for (const RecordedStage<float>& stage : snapshot.trace->stages)
        for (const SnippetDialect dialect : {SnippetDialect::NumPy, SnippetDialect::PyTorch}) {
            const std::string name = "stage_" + of + tensor_name(stage.id) + "_" + dialect_name(dialect);
            const Snippet snippet = stage_snippet(snapshot, stage.id, {dialect, operands_in_file, name + ".npz"});
            if (snippet.needs_file) {
                std::vector<ArrayView> views;
                for (const NamedArray& array : snippet.arrays) views.push_back(view_of(array));
                write_npz(folder / (name + ".npz"), views);
            }
            put(folder / (name + ".py"), snippet.text);
            ++count;
        }
    return count;
}

/// Runs all files in one process, because starting Python and NumPy takes longer than most of them.
PythonOutcome run_written(std::size_t count, const std::filesystem::path& folder) {
    PythonOutcome outcome = run_python(folder, kRunAll, torch_path(folder));
    if (outcome.ok) {
        EXPECT_NE(outcome.said.find("ran " + std::to_string(count) + "\n"), std::string::npos) << outcome.said;
    }
    return outcome;
}

PythonOutcome run_all(const Snapshot& snapshot, const std::filesystem::path& folder, bool operands_in_file = false) {
    return run_written(write_all(snapshot, folder, "", operands_in_file), folder);
}

void expect_all_reproduce(const std::vector<Document>& documents) {
    const TemporaryFolder folder;
    std::size_t count = 0;
    for (std::size_t i = 0; i < documents.size(); ++i)
        count += write_all(*computed(documents[i]), folder.path(), std::to_string(i) + "_", false);
    const PythonOutcome outcome = run_written(count, folder.path());
    EXPECT_TRUE(outcome.ok) << outcome.said;
}

TEST(Snippet, EveryStageOfEveryPresetReproducesItsNumbers) {
    const TemporaryFolder scratch;
    ATTN_NEEDS_NUMPY(scratch.path());
    std::vector<Document> documents;
    for (const Preset& preset : presets()) documents.push_back(preset.document);
    expect_all_reproduce(documents);
}

TEST(Snippet, MasksTemperatureAndDropoutAreThoseOfTheTrace) {
    const TemporaryFolder scratch;
    ATTN_NEEDS_NUMPY(scratch.path());
    Document document = open_preset("gpt-tiny");
    document.texts = {"one two three four", "one \"two\"", ""};
    document.forward.temperature = 0.7;
    document.forward.dropout = {0.3, 0.25, 0.2, 11};
    document.forward.masks.window = 2;
    for (int key = 0; key < 4; ++key) document.forward.masks.painted.push_back({2, key});  // a fully masked row
    std::vector<Document> documents{document};

    document.forward.dropout = {1, 1, 1, 11};
    document.forward.masks = {};
    document.config.activation = Activation::GeluErf;
    document.config.position = PositionKind::Sinusoidal;
    document.config.d_model = 12;
    document.config.num_heads = 3;
    document.config.d_head = 5;
    documents.push_back(document);

    document = open_preset("encoder-decoder");
    document.forward.dropout = {0.5, 0.5, 0.5, 3};
    documents.push_back(document);
    expect_all_reproduce(documents);
}

/// Hidden units are scaled up so that some exceed the limit of the clipped GELU.
TEST(Snippet, EveryActivationIsWritten) {
    const TemporaryFolder scratch;
    ATTN_NEEDS_NUMPY(scratch.path());
    Document document = open_preset("gpt-tiny");
    document.texts = {"one two three four"};
    document.config.num_layers = 1;
    Edit larger;
    larger.kind = EditKind::Scale;
    larger.at = {Stage::FfnHidden, 0};
    larger.value = 20;
    document.forward.edits = {larger};
    std::vector<Document> documents;
    for (const Activation activation :
         {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::QuickGelu, Activation::GeluClipped}) {
        document.config.activation = activation;
        documents.push_back(document);
    }
    expect_all_reproduce(documents);
}

TEST(Snippet, RotationsScaledByTheLengthAreWritten) {
    const TemporaryFolder scratch;
    ATTN_NEEDS_NUMPY(scratch.path());
    Document document = open_preset("llama-tiny");
    document.config.rotary_stretch = {.kind = RotaryScaling::Dynamic, .factor = 3, .original_context = 2};
    expect_all_reproduce({document});
}

TEST(Snippet, EditsByHandAreMadeAgain) {
    const TemporaryFolder scratch;
    ATTN_NEEDS_NUMPY(scratch.path());
    Document document = open_preset("gpt-tiny");
    document.texts = {"one two three four", "one two"};
    document.forward.dropout.attention = 0.25;
    const auto edit = [](EditKind kind, Stage stage, int layer, std::int64_t head, std::int64_t row, double value) {
        Edit made;
        made.kind = kind;
        made.at = {stage, layer};
        made.head = head;
        made.row = row;
        made.value = value;
        return made;
    };
    Edit taken = edit(EditKind::TakeRow, Stage::Q, 0, 1, 0, 0);
    taken.from = 2;
    Edit patch = edit(EditKind::TakeRow, Stage::Context, 1, 1, Edit::kAll, 0);
    patch.sequence = 0, patch.from = Edit::kAll, patch.from_sequence = 1;
    Edit off = edit(EditKind::Set, Stage::Logits, -1, Edit::kAll, Edit::kAll, 7);
    off.on = false;
    document.forward.edits = {edit(EditKind::Set, Stage::Scores, 0, 0, 1, 2.5),
                              edit(EditKind::Scale, Stage::Weights, 0, 1, Edit::kAll, 0.5),
                              edit(EditKind::Set, Stage::Masked, 1, Edit::kAll, 3, -1),
                              edit(EditKind::Freeze, Stage::Weights, 1, 0, Edit::kAll, 0),
                              edit(EditKind::Scale, Stage::Concat, 1, Edit::kAll, 2, 0),
                              edit(EditKind::Set, Stage::PositionEmbedding, -1, Edit::kAll, 0, 0.125),
                              edit(EditKind::Scale, Stage::Residual2, 0, Edit::kAll, 1, -3),
                              taken,
                              patch,
                              off};
    const auto snapshot = computed(document);
    const TemporaryFolder folder;
    const PythonOutcome outcome = run_all(*snapshot, folder.path());
    EXPECT_TRUE(outcome.ok) << outcome.said;
    // Negative control: without its edits, the snippet of an edited stage fails.
    Snapshot forgotten = *snapshot;
    auto trace = std::make_shared<Trace<float>>(*snapshot->trace);
    trace->settings.edits.clear();
    forgotten.trace = trace;
    const TemporaryFolder second;
    const PythonOutcome without = run_all(forgotten, second.path());
    EXPECT_FALSE(without.ok);
    EXPECT_NE(without.said.find("attention.scores_numpy"), std::string::npos) << without.said;
}

TEST(Snippet, StrayBytesAndQuotesAreSpelt) {
    const TemporaryFolder scratch;
    ATTN_NEEDS_NUMPY(scratch.path());
    Document document = open_preset("causal-attention");
    document.tokenizer = TokenizerKind::Character;
    document.vocabulary_texts.clear();
    document.texts = {"a\"\\\n\xFFä€😀# \t", "b"};
    expect_all_reproduce({document});
    EXPECT_EQ(snippet::python_string("a\"\\\n\xFFä😀"), R"("a\"\\\u000a\udcff\u00e4\U0001f600")");
}

TEST(Snippet, ANumberThatIsOffIsSeen) {
    const TemporaryFolder right, off;
    ATTN_NEEDS_NUMPY(right.path());
    const auto snapshot = computed(open_preset("causal-attention"));
    std::vector<std::string> names;
    for (const Stage stage : {Stage::Q, Stage::Weights, Stage::Logits, Stage::Tokens}) {
        Snapshot wrong = *snapshot;
        auto trace = std::make_shared<Trace<float>>(*wrong.trace);
        for (RecordedStage<float>& recorded : trace->stages)
            if (recorded.id.stage == stage) recorded.value.data()[0] += stage == Stage::Tokens ? 1.F : 1e-3F;
        wrong.trace = trace;
        const StageId id{stage, is_layer_stage(stage) ? 0 : -1};
        for (const SnippetDialect dialect : {SnippetDialect::NumPy, SnippetDialect::PyTorch}) {
            names.push_back("stage_" + tensor_name(id) + "_" + dialect_name(dialect) + ".py");
            put(right / names.back(), stage_snippet(*snapshot, id, {.dialect = dialect}).text);
            put(off / names.back(), stage_snippet(wrong, id, {.dialect = dialect}).text);
        }
    }
    const PythonOutcome good = run_written(names.size(), right.path()), bad = run_written(names.size(), off.path());
    EXPECT_TRUE(good.ok) << good.said;
    EXPECT_FALSE(bad.ok);
    for (const std::string& name : names) EXPECT_NE(bad.said.find(name + ": AssertionError"), std::string::npos) << name << bad.said;
}

TEST(Snippet, NumbersThatAreNotFiniteGoWhereTheEngineSendsThem) {
    const TemporaryFolder folder;
    ATTN_NEEDS_NUMPY(folder.path());
    const auto snapshot = computed(open_preset("causal-attention"));
    // A NaN in a value that only the last query can see; in the trace, the others' context is unaffected.
    auto trace = std::make_shared<Trace<float>>(*snapshot->trace);
    const StageId v{Stage::V, 0}, context{Stage::Context, 0};
    const auto at = [&](const StageId& id) -> Tensor<float>& { return const_cast<RecordedStage<float>*>(trace->find(id))->value; };
    at(v)(0, 0, 9, 0) = std::numeric_limits<float>::quiet_NaN();
    at(context)(0, 0, 9, 0) = std::numeric_limits<float>::quiet_NaN();
    Snapshot changed = *snapshot;
    changed.trace = trace;
    for (const SnippetDialect dialect : {SnippetDialect::NumPy, SnippetDialect::PyTorch}) {
        put(folder.path() / "stage_one.py", stage_snippet(changed, context, {.dialect = dialect}).text);
        const PythonOutcome outcome = run_python(folder.path(), kRunAll, torch_path(folder.path()));
        EXPECT_TRUE(outcome.ok) << outcome.said;
    }
}

TEST(Snippet, ManyNumbersGoIntoAFile) {
    const TemporaryFolder folder;
    ATTN_NEEDS_NUMPY(folder.path());
    Document document = open_preset("causal-attention");
    document.config.d_model = 128;
    const auto snapshot = computed(document);
    const Snippet q = stage_snippet(*snapshot, {Stage::Q, 0}, {.operands_file = "q.npz"});
    EXPECT_TRUE(q.needs_file);
    EXPECT_LT(q.text.size(), 2000U);
    EXPECT_NE(q.text.find("q.npz"), std::string::npos);
    EXPECT_FALSE(stage_snippet(*snapshot, {Stage::Scaled, 0}, {}).needs_file);
    EXPECT_TRUE(stage_snippet(*snapshot, {Stage::Scaled, 0}, {.operands_in_file = true}).needs_file);
    const PythonOutcome outcome = run_all(*snapshot, folder.path());
    EXPECT_TRUE(outcome.ok) << outcome.said;
    const TemporaryFolder second;
    const PythonOutcome all_in_files = run_all(*computed(open_preset("encoder-block")), second.path(), true);
    EXPECT_TRUE(all_in_files.ok) << all_in_files.said;
}

TEST(Snippet, AMistakeIsRefused) {
    Document document = open_preset("causal-attention");
    document.forward.mistake = Mistake::NoScale;
    try {
        stage_snippet(*computed(document), {Stage::Weights, 0}, {});
        ADD_FAILURE() << "the snippet would compute other numbers";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("the scores are not divided"), std::string::npos) << error.what();
    }
}

TEST(Snippet, AStageThatIsNotThereIsRefused) {
    const auto snapshot = computed(open_preset("causal-attention"));
    EXPECT_THROW(stage_snippet(*snapshot, {Stage::FfnOut, 0}, {}), Error);
    EXPECT_THROW(stage_snippet(*snapshot, {Stage::Q, 5}, {}), Error);
    EXPECT_THROW(stage_snippet(Snapshot{}, {Stage::Q, 0}, {}), Error);
}

}  // namespace
}  // namespace attn::app
