/// Exports that take long: they are followed and cancelled, and nothing else waits for them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/session.hpp"
#include "engine/io/atomic_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

constexpr const char* kOldContents = "as it was";

/// Writes half of a file, then waits until it is told to go on, or asked to stop.
class SlowExport {
public:
    WriteFile writer() {
        return [this](const std::filesystem::path& path, const WriteWatch& watch) {
            AtomicFile file(path, AtomicFile::Temporary::Named);
            file.write("first ");
            watch.at(1, 2);
            entered_.set_value();
            while (!open_ && !watch.stop.stop_requested()) std::this_thread::yield();
            file.write("second");
            watch.at(2, 2);
            file.commit();
        };
    }
    void await() { entered_.get_future().wait(); }
    void open() { open_ = true; }

private:
    std::promise<void> entered_;
    std::atomic<bool> open_{false};
};

class LongExport : public testing::Test {
protected:
    void begin() {
        session->write_file(folder / "long.bin", slow.writer());
        slow.await();
        session->update();
    }
    /// Draws no conclusion from time: without an answer it never returns.
    void update_until(const std::function<bool()>& answered) {
        while (!answered()) {
            session->update();
            std::this_thread::yield();
        }
    }
    std::string written() const {
        std::ifstream file(folder / "long.bin");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    const FilesState& files() const { return session->files(); }

    test::TemporaryFolder folder;
    SlowExport slow;
    std::atomic<int> woken{0};
    std::unique_ptr<Session> session = std::make_unique<Session>(open_preset("causal-attention"), [this] { ++woken; });
};

TEST_F(LongExport, IsToldUntilItIsDone) {
    session->wait();
    EXPECT_FALSE(files().exporting);
    const int before = woken;
    begin();
    ASSERT_TRUE(files().exporting);
    EXPECT_EQ(files().exporting->path, folder / "long.bin");
    EXPECT_EQ(files().exporting->share, 0.5);
    EXPECT_GE(woken, before + 2) << "for its beginning and for its half";
    slow.open();
    session->wait_for_files();
    EXPECT_FALSE(files().exporting);
    EXPECT_EQ(written(), "first second");
    EXPECT_EQ(files().notice, "Wrote " + (folder / "long.bin").string() + ".");
}

TEST_F(LongExport, CancelledItLeavesNothing) {
    begin();
    EXPECT_EQ(folder.entries(), 1) << "the temporary file";
    session->apply({command::CancelExport{}, ""});
    session->wait_for_files();
    EXPECT_FALSE(files().exporting);
    EXPECT_EQ(folder.entries(), 0);
    EXPECT_EQ(files().notice, "Cancelled: " + (folder / "long.bin").string() + " was not written, and no part of it is left behind.");
    EXPECT_FALSE(files().failed) << "it was asked for";
}

TEST_F(LongExport, CancelledItLeavesTheFileAsItWas) {
    std::ofstream(folder / "long.bin") << kOldContents;
    begin();
    session->wait();
    session->apply({command::CancelExport{}, ""});
    session->wait_for_files();
    EXPECT_EQ(files().notice, "Cancelled: " + (folder / "long.bin").string() + " stays as it was before.");
    EXPECT_EQ(written(), kOldContents);
}

TEST_F(LongExport, TheNextIsWrittenAfterItWasCancelled) {
    begin();
    session->wait();
    session->apply({command::ExportTensor{folder / "next.csv", {{Stage::Weights, 0}, 0, 0, false}}, ""});
    session->apply({command::CancelExport{}, ""});
    session->wait_for_files();
    EXPECT_TRUE(std::filesystem::exists(folder / "next.csv"));
    EXPECT_EQ(folder.entries(), 1);
}

TEST_F(LongExport, NothingElseWaitsForIt) {
    begin();
    session->apply({command::ListFolder{folder.path()}, ""});
    update_until([&] { return files().listing != nullptr; });
    session->apply({command::ListModels{folder.path()}, ""});
    update_until([&] { return files().models != nullptr; });
    session->apply({command::PreviewFile{folder.path()}, ""});
    update_until([&] { return files().preview != nullptr; });
    session->apply({command::SaveDocument{folder / "mine.json"}, ""});
    update_until([&] { return files().document == folder / "mine.json"; });
    update_until([&] { return !files().busy; });
    EXPECT_TRUE(files().exporting);
    slow.open();
}

TEST_F(LongExport, EndsWithTheSession) {
    std::ofstream(folder / "long.bin") << kOldContents;
    begin();
    session->write_file(folder / "picture.svg", [](const auto& path, const WriteWatch&) { write_whole_file(path, "drawn"); });
    session->apply({command::ExportTensor{folder / "next.csv", {{Stage::Weights, 0}, 0, 0, false}}, ""});
    session->apply({command::SaveDocument{folder / "mine.json"}, ""});
    session.reset();
    EXPECT_EQ(written(), kOldContents);
    EXPECT_TRUE(std::filesystem::exists(folder / "mine.json")) << "a document is saved all the same";
    EXPECT_TRUE(std::filesystem::exists(folder / "picture.svg")) << "what is written at once is not dropped either";
    EXPECT_EQ(folder.entries(), 3);
}

/// A budget with room for an outline and one part, but not for all stages.
double budget_for_outline(const Document& document) {
    const TraceSize size = prepare(document).size;
    return size.parameters + (size.outline + size.part + size.whole) / 2;
}

TEST(CancelledExport, OfAnythingLeavesNothing) {
    const Document document = open_preset("gpt-tiny");
    Session whole(document, [] {}), tight(
                                        document, [] {}, budget_for_outline(document));
    const std::shared_ptr<const Snapshot> all = whole.wait(), outline = tight.wait();
    ASSERT_FALSE(outline->trace->whole());
    const test::TemporaryFolder folder;
    const TensorChoice choice{{Stage::Weights, 1}, {}, {}, false, ""};
    NumberTable table;
    table.rows = 3;
    table.columns = 1;
    table.numbers = {1, 2, 3};
    const auto cancelled = [&](const char* name, const auto& write) {
        SCOPED_TRACE(name);
        std::vector<double> shares;
        write(folder / name, WriteWatch{{}, [&](double share) { shares.push_back(share); }});
        ASSERT_GE(shares.size(), 2U);
        EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
        std::filesystem::remove(folder / name);
        std::stop_source source;
        EXPECT_THROW(write(folder / name, WriteWatch{source.get_token(),
                                                     [&](double share) {
                                                         if (share == shares[1]) source.request_stop();
                                                     }}),
                     Cancelled);
        EXPECT_EQ(folder.entries(), 0);
    };
    cancelled("whole.safetensors", [&](const auto& path, const WriteWatch& watch) { write_snapshot_trace(path, *all, watch); });
    cancelled("outline.safetensors", [&](const auto& path, const WriteWatch& watch) { write_snapshot_trace(path, *outline, watch); });
    cancelled("a.csv", [&](const auto& path, const WriteWatch& watch) { write_tensor_csv(path, *all, choice, nullptr, watch); });
    cancelled("table.csv", [&](const auto& path, const WriteWatch& watch) { write_table(path, table, watch); });
}

TEST(CancelledExport, ComputesNothingAnyMore) {
    const Document document = open_preset("gpt-tiny");
    Session tight(
        document, [] {}, budget_for_outline(document));
    const std::shared_ptr<const Snapshot> outline = tight.wait();
    const test::TemporaryFolder folder;
    std::stop_source source;
    source.request_stop();
    const WriteWatch watch{source.get_token(), {}};
    const TensorChoice choice{{Stage::Weights, 1}, {}, {}, false, ""};
    EXPECT_THROW(write_snapshot_trace(folder / "a.safetensors", *outline, watch), Cancelled);
    EXPECT_THROW(write_tensor_npy(folder / "a.npy", *outline, choice, nullptr, watch), Cancelled);
    EXPECT_THROW(write_tensor_csv(folder / "a.csv", *outline, choice, nullptr, watch), Cancelled);
    EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace attn::app
