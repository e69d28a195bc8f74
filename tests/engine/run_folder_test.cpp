#include "engine/train/run_folder_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "engine/tensor/random.hpp"
#include "engine/train/curve_csv.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/planted_links.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// Doubles with a long decimal representation.
double odd(std::uint64_t index) { return CounterRandom(5, 0).normal(index) / 3; }

RunFolder small_run(std::int64_t steps, std::uint64_t seed = 1) {
    RunFolder run;
    Config config;
    config.vocab_size = 3;
    config.context_length = 4;
    config.d_model = 4;
    config.num_heads = 2;
    config.num_layers = 1;
    config.d_ff = 4;
    config.seed = seed;
    std::uint64_t index = 0;
    for (std::int64_t step = 0; step <= steps; ++step) {
        if (step > 0) run.losses.push_back({step, odd(++index), odd(++index), odd(++index), odd(++index), odd(++index), 7 * step});
        if (step % 3 == 0 || step == steps) {
            run.validations.push_back({step, odd(++index), odd(++index)});
            HeadPoint point{step, {}};
            for (std::int64_t head = 0; head < 2; ++head)
                point.scores.push_back({{Stage::Weights, 0, Stack::Main},
                                        head,
                                        odd(++index),
                                        odd(++index),
                                        odd(++index),
                                        odd(++index),
                                        odd(++index),
                                        odd(++index),
                                        11,
                                        step});
            run.heads.push_back(point);
            config.seed = seed;
            auto parameters = std::make_shared<Parameters<float>>(config);
            for (std::int64_t i = 0; i < parameters->count(); ++i) parameters->data()[i] = static_cast<float>(odd(++index));
            run.moments.push_back({step, parameters});
        }
    }
    run.checkpoint.settings.model = config;
    run.checkpoint.settings.train.forward.masks.causal = true;
    run.checkpoint.settings.seed = seed;
    run.checkpoint.steps = steps;
    run.checkpoint.vocabulary = {"a", "b", "c"};
    run.checkpoint.parameters = run.moments.back().parameters;
    run.checkpoint.first_moments.resize(static_cast<std::size_t>(run.checkpoint.parameters->count()));
    run.checkpoint.second_moments = run.checkpoint.first_moments;
    return run;
}

void expect_same_heads(const std::vector<HeadPoint>& a, const std::vector<HeadPoint>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].step, b[i].step);
        ASSERT_EQ(a[i].scores.size(), b[i].scores.size());
        for (std::size_t j = 0; j < a[i].scores.size(); ++j) {
            const HeadScore &x = a[i].scores[j], &y = b[i].scores[j];
            EXPECT_EQ(x.id, y.id);
            EXPECT_EQ(std::tie(x.head, x.previous_token, x.first_token, x.same_token, x.induction, x.entropy, x.distance, x.rows,
                               x.induction_rows),
                      std::tie(y.head, y.previous_token, y.first_token, y.same_token, y.induction, y.entropy, y.distance, y.rows,
                               y.induction_rows));
        }
    }
}

TEST(CurveCsv, SurvivesWithEveryBit) {
    RunFolder run = small_run(10);
    run.losses[4].loss = 5e-324;
    run.losses[5].loss = std::numeric_limits<double>::max();
    run.losses[6].loss = -0.0;
    run.validations[1].loss = std::numeric_limits<double>::infinity();
    const std::string text = curves_csv(run.losses, run.validations);
    const Curves back = curves_from_csv(text, "curves.csv");
    EXPECT_EQ(back.losses, run.losses);
    EXPECT_TRUE(std::signbit(back.losses[6].loss));
    EXPECT_EQ(back.validations, run.validations);
    EXPECT_EQ(text.substr(0, text.find('\n')), "step,loss,accuracy,gradient_norm,learning_rate,seconds,tokens,val_loss,val_accuracy");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(curves_from_csv(curves_csv({}, std::vector<ValidationPoint>{{0, nan, 0}}), "c").validations.at(0).loss));
    EXPECT_TRUE(curves_from_csv(curves_csv({}, {}), "c").losses.empty());
    expect_same_heads(heads_from_csv(heads_csv(run.heads), "heads.csv"), run.heads);
}

TEST(CurveCsv, HasAColumnForEveryLength) {
    const std::vector<LossPoint> losses{{1, 2, 0.5, 1, 0.1, 3, 9}, {2, 2, 0.5, 1, 0.1, 3, 18}};
    // A run with one length that was continued with several: lengths are kept as reported.
    const std::vector<ValidationPoint> validations{{0, 2, 0.5, {{4, 0.25}}}, {2, 1, 0.75, {{1, 1}, {4, 1.0 / 3}}}};
    const std::string text = curves_csv(losses, validations);
    const Curves back = curves_from_csv(text, "curves.csv");
    EXPECT_EQ(back.losses, losses);
    EXPECT_EQ(back.validations, validations);
    EXPECT_EQ(text.substr(0, text.find('\n')),
              "step,loss,accuracy,gradient_norm,learning_rate,seconds,tokens,val_loss,val_accuracy,val_accuracy_1,val_accuracy_4");
    EXPECT_NE(text.find("\n0,,,,,,,2,0.5,,0.25\n"), std::string::npos) << text;
    const std::string header = text.substr(0, text.find(",val_accuracy_1"));
    for (const char* columns : {",val_accuracy_x", ",val_accuracy_-1", ",val_accuracy_4,val_accuracy_1", ",val_accuracy_1,", ",other", "x"})
        EXPECT_THROW(curves_from_csv(header + columns + "\n", "curves.csv"), FileError) << columns;
    EXPECT_THROW(curves_from_csv(header + ",val_accuracy_1\n1,,,,,,,2,0.5\n", "curves.csv"), FileError) << "a cell is missing";
    EXPECT_THROW(heads_from_csv("step,stage,head,previous_token,first_token,same_token,induction,entropy,distance,rows,induction_rows,x\n",
                                "heads.csv"),
                 FileError);
}

TEST(CurveCsv, RefusesWhatItDidNotWrite) {
    const std::string curves = curves_csv(std::vector<LossPoint>{{1, 2, 0.5, 1, 0.1, 3, 9}}, std::vector<ValidationPoint>{{1, 2, 0.5}});
    const std::string header = curves.substr(0, curves.find('\n') + 1);
    const auto refused = [](const std::string& text, FileFault fault, const char* place) {
        test::expect_refused(text, fault, std::string("curves.csv, ") + place, 1 << 20, [&] { curves_from_csv(text, "curves.csv"); });
    };
    refused("", FileFault::Truncated, "line 1");
    refused("step,loss\n", FileFault::Schema, "line 1");
    refused(header + "1,2,3", FileFault::Truncated, "line 2");
    refused(header + "1,2,3\n", FileFault::Format, "line 2");
    refused(header + "1,2,3,4,5,6,7,8,9,10\n", FileFault::Format, "line 2");
    refused(header + "\n", FileFault::Format, "line 2");
    refused(header + "x,,,,,,,,\n", FileFault::Format, "line 2");
    refused(header + "-1,,,,,,,,\n", FileFault::Range, "line 2");
    refused(header + "1,2,,4,5,6,7,,\n", FileFault::Format, "line 2");
    refused(header + "1,,,,,,,2,\n", FileFault::Format, "line 2");
    refused(header + "1,1e999,0,0,0,0,0,,\n", FileFault::Range, "line 2");
    refused(header + "1, 2,0,0,0,0,0,,\n", FileFault::Format, "line 2");
    refused(header + "1,=2,0,0,0,0,0,,\n", FileFault::Format, "line 2");
    refused(header + "2,,,,,,,1,1\n2,,,,,,,1,1\n", FileFault::Range, "line 3");
    for (std::size_t length = 0; length < curves.size(); ++length)
        if (length != header.size()) {
            EXPECT_THROW(curves_from_csv(curves.substr(0, length), "c"), FileError) << length;
        }
    const std::string heads = heads_csv(std::vector<HeadPoint>{{3, {{{Stage::Weights, 0, Stack::Main}, 1}}}});
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = heads;
        return text.replace(text.find(from), from.size(), to);
    };
    EXPECT_NO_THROW(heads_from_csv(heads, "h"));
    EXPECT_THROW(heads_from_csv(with("attention.weights", "attention.q"), "h"), FileError);
    EXPECT_THROW(heads_from_csv(with("layers.0", "layers.x"), "h"), FileError);
    EXPECT_THROW(heads_from_csv(with("3,", "3.5,"), "h"), FileError);
    EXPECT_THROW(heads_from_csv(heads + "2" + heads.substr(heads.find(",layers")), "h"), FileError);
}

TEST(RunFolder, IsReadBack) {
    const test::TemporaryFolder scratch;
    const fs::path folder = scratch / "deep" / "run";
    const RunFolder run = small_run(10);
    write_run_folder(folder, run);
    const RunFolder back = read_run_folder(folder);
    EXPECT_EQ(back.checkpoint.steps, 10);
    EXPECT_EQ(back.losses, run.losses);
    EXPECT_EQ(back.validations, run.validations);
    expect_same_heads(back.heads, run.heads);
    ASSERT_EQ(back.moments.size(), run.moments.size());
    for (std::size_t i = 0; i < run.moments.size(); ++i) {
        EXPECT_EQ(back.moments[i].step, run.moments[i].step);
        const Parameters<float>&a = *back.moments[i].parameters, &b = *run.moments[i].parameters;
        for (std::int64_t j = 0; j < b.count(); ++j)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(a.data()[j]), std::bit_cast<std::uint32_t>(b.data()[j]));
    }
    EXPECT_TRUE(fs::exists(folder / "config.json"));
}

TEST(RunFolder, ANewRunLeavesNothingOfTheOldOne) {
    const test::TemporaryFolder folder;
    write_run_folder(folder.path(), small_run(10));
    const RunFolder next = small_run(4, 2);
    write_run_folder(folder.path(), next);
    const RunFolder back = read_run_folder(folder.path());
    EXPECT_EQ(back.losses, next.losses);
    EXPECT_EQ(back.moments.size(), next.moments.size());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "moments"), fs::directory_iterator()), 3) << "steps 0, 3 and 4";
    EXPECT_EQ(read_checkpoint(previous_checkpoint(folder / kCheckpointName)).steps, 10);
}

TEST(RunFolder, SavesAgainAndAgain) {
    const test::TemporaryFolder folder;
    RunFolderWriter writer(folder.path());
    EXPECT_EQ(writer.first_found(), "");
    writer.begin({}, 1000);
    EXPECT_EQ(folder.entries(), 1) << "moments: what was tried leaves nothing";
    for (const std::int64_t steps : {4, 7, 10}) EXPECT_EQ(writer.save(small_run(steps)), "");
    const RunFolder back = read_run_folder(folder.path());
    EXPECT_EQ(back.checkpoint.steps, 10);
    EXPECT_EQ(back.losses.size(), 10U);
    EXPECT_EQ(writer.first_found(), "model.safetensors");
    EXPECT_THROW(RunFolderWriter second(folder.path()), FileError) << "while the first one lives";
}

TEST(RunFolder, SavesTheModelBeforeItComplainsOfTheRest) {
    const test::TemporaryFolder folder;
    RunFolderWriter writer(folder.path());
    writer.begin({}, 0);
    EXPECT_EQ(writer.save(small_run(4)), "");
    fs::remove(folder / kCurvesName);
    fs::create_directory(folder / kCurvesName);
    EXPECT_NE(writer.save(small_run(7)).find("curves.csv: is a folder"), std::string::npos);
    EXPECT_EQ(read_checkpoint(folder / kCheckpointName).steps, 7);
    fs::remove(folder / kCurvesName);
    fs::remove_all(folder / kMomentsName);
    test::put_file(folder / kMomentsName, "");
    EXPECT_NE(writer.save(small_run(8)).find("moments"), std::string::npos);
    EXPECT_EQ(read_checkpoint(folder / kCheckpointName).steps, 8);
    fs::remove(folder / kMomentsName);
    EXPECT_EQ(writer.save(small_run(10)), "");
    EXPECT_EQ(read_run_folder(folder.path()).losses.size(), 10U);
}

TEST(RunFolder, AnotherRunsModelNeverStandsBesideThisOnesCurves) {
    const test::TemporaryFolder folder;
    write_run_folder(folder.path(), small_run(10));
    RunFolderWriter writer(folder.path());
    EXPECT_EQ(writer.first_found(), "model.safetensors");
    writer.begin({}, 0);
    EXPECT_EQ(read_run_folder(folder.path()).losses.size(), 10U) << "beginning changes nothing";
    // A checkpoint that cannot be written leaves the other run intact.
    RunFolder bad = small_run(4, 2);
    bad.checkpoint.second_moments.pop_back();
    EXPECT_THROW(writer.save(bad), Error);
    const RunFolder other = read_run_folder(folder.path());
    EXPECT_EQ(other.checkpoint.steps, 10);
    EXPECT_EQ(other.losses.size(), 10U);
    EXPECT_EQ(other.moments.size(), small_run(10).moments.size());
    EXPECT_EQ(writer.save(small_run(4, 2)), "");
    EXPECT_EQ(read_run_folder(folder.path()).losses, small_run(4, 2).losses);
}

TEST(RunFolder, FindsOutBeforehandWhatCannotBeWritten) {
    for (const char* name : {"model.safetensors", "model.previous.safetensors", "curves.csv", "heads.csv", "config.json"}) {
        const test::TemporaryFolder folder;
        fs::create_symlink("victim", folder / name);
        RunFolderWriter writer(folder.path());
        EXPECT_EQ(writer.first_found(), name);
        test::expect_refused(name, FileFault::Io, std::string(name) + ": is a symbolic link", std::size_t{16} << 20,
                             [&] { writer.begin({}, 0); });
    }
}

TEST(RunFolder, NothingIsWrittenOrRemovedBehindLinks) {
    test::expect_no_writing_behind_links([](const fs::path& place) { write_run_folder(place, small_run(10)); });
    test::expect_no_writing_behind_links([](const fs::path& place) {
        RunFolderWriter writer(place);
        writer.begin(fs::exists(place / kCheckpointName) ? std::optional<std::int64_t>(10) : std::nullopt, 0);
        const std::string problem = writer.save(small_run(20), {.most_moments = 6});
        if (!problem.empty()) throw Error(problem);
    });
}

TEST(RunFolder, RefusesMomentsThatAreALink) {
    const test::TemporaryFolder folder, elsewhere;
    fs::create_directory_symlink(elsewhere.path(), folder / "moments");
    test::expect_refused("moments", FileFault::Io, "moments: is a symbolic link", std::size_t{16} << 20,
                         [&] { RunFolderWriter(folder.path()); });
    // The folder itself was named by the user.
    const test::TemporaryFolder big;
    fs::create_directory_symlink(big.path(), folder / "run");
    write_run_folder(folder / "run", small_run(4));
    EXPECT_EQ(read_run_folder(big.path()).checkpoint.steps, 4);
    // A link that is planted while the run is written.
    RunFolderWriter writer(big.path());
    writer.begin({}, 0);
    fs::rename(big / "moments", elsewhere / "moments");
    fs::create_directory_symlink(elsewhere / "moments", big / "moments");
    const auto before = test::contents_of(elsewhere.path());
    EXPECT_THROW(writer.save(small_run(10)), FileError);
    EXPECT_EQ(test::contents_of(elsewhere.path()), before);
    EXPECT_EQ(read_run_folder(big.path()).checkpoint.steps, 4);
}

TEST(RunFolder, KeepsFirstAndLastOfManyMoments) {
    const test::TemporaryFolder folder;
    const RunFolder run = small_run(60);
    ASSERT_EQ(run.moments.size(), 21U);
    write_run_folder(folder.path(), run, {.most_moments = 6});
    const RunFolder back = read_run_folder(folder.path());
    std::vector<std::int64_t> steps;
    for (const Moment& moment : back.moments) steps.push_back(moment.step);
    EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 12, 24, 36, 48, 60}));
}

TEST(RunFolder, KeepsMomentsThatAreHeldWhateverTheirNumber) {
    const test::TemporaryFolder folder;
    RunFolder run = small_run(60);
    run.moments[1].held = run.moments[7].held = run.moments[8].held = true;
    write_run_folder(folder.path(), run, {.most_moments = 3});
    const std::set<std::int64_t> held{run.moments[1].step, run.moments[7].step, run.moments[8].step};
    std::set<std::int64_t> steps{0, 30, 60};
    steps.insert(held.begin(), held.end());
    EXPECT_EQ(stored_moments(folder / kMomentsName), steps);
}

TEST(RunFolder, LeavesOutWhatLiesAfterTheCheckpoint) {
    const test::TemporaryFolder folder;
    // As if a run was killed between writing its curves and its checkpoint.
    RunFolder run = small_run(10);
    const RunFolder earlier = small_run(6);
    run.checkpoint = earlier.checkpoint;
    write_run_folder(folder.path(), run);
    const RunFolder back = read_run_folder(folder.path());
    EXPECT_EQ(back.losses.back().step, 6);
    EXPECT_EQ(back.validations.back().step, 6);
    EXPECT_EQ(back.heads.back().step, 6);
    EXPECT_EQ(back.moments.back().step, 6);
}

/// As if a run was killed before its next checkpoint: what it kept so far is there, and what the folder holds is still whole.
TEST(RunFolder, KeepsNewMomentsBeforeTheCheckpointThatCountsThem) {
    const test::TemporaryFolder folder;
    RunFolderWriter writer(folder.path());
    writer.begin({}, 0);
    EXPECT_EQ(writer.save(small_run(4)), "");
    RunFolder next = small_run(10);
    next.checkpoint.second_moments.pop_back();
    EXPECT_THROW(writer.save(next), Error);
    std::set<std::int64_t> kept;
    for (const Moment& moment : next.moments) kept.insert(moment.step);
    const std::set<std::int64_t> stored = stored_moments(folder / kMomentsName);
    EXPECT_TRUE(std::includes(stored.begin(), stored.end(), kept.begin(), kept.end()));
    EXPECT_EQ(read_run_folder(folder.path()).checkpoint.steps, 4);
    EXPECT_EQ(read_run_folder(folder.path()).moments.size(), small_run(4).moments.size());
}

/// They may have filled the disk that the model needs.
TEST(RunFolder, TakesNewMomentsBackIfTheCheckpointCannotBeWritten) {
    const test::TemporaryFolder folder;
    RunFolderWriter writer(folder.path());
    writer.begin({}, 0);
    EXPECT_EQ(writer.save(small_run(4)), "");
    const std::set<std::int64_t> before = stored_moments(folder / kMomentsName);
    fs::rename(folder / kCheckpointName, folder / "kept");
    fs::create_directory(folder / kCheckpointName);
    EXPECT_THROW(writer.save(small_run(10)), FileError);
    EXPECT_EQ(stored_moments(folder / kMomentsName), before);
    fs::remove(folder / kCheckpointName);
    EXPECT_EQ(writer.save(small_run(10)), "");
    EXPECT_EQ(read_run_folder(folder.path()).moments.size(), small_run(10).moments.size()) << "what was taken back is written again";
}

TEST(RunFolder, RefusesWhatDoesNotBelongTogether) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const char* label, FileFault fault, std::string_view name) {
        test::expect_refused(label, fault, name, std::size_t{16} << 20, [&] { read_run_folder(folder.path()); });
    };
    refused("empty", FileFault::Schema, "not the folder of a training run");
    write_run_folder(folder.path(), small_run(10));
    const std::string curves = test::file_bytes(folder / "curves.csv");
    test::put_file(folder / "curves.csv", curves.substr(0, curves.size() / 2));
    EXPECT_THROW(read_run_folder(folder.path()), FileError);
    fs::remove(folder / "curves.csv");
    EXPECT_TRUE(read_run_folder(folder.path()).losses.empty()) << "a table may be missing";
    const std::string moment = test::file_bytes(folder / "moments" / "step-3.safetensors");
    test::put_file(folder / "moments" / "step-6.safetensors", moment);
    refused("a moment of another step", FileFault::Schema, "step-6.safetensors: belongs to a different run");
    test::put_file(folder / "moments" / "step-6.safetensors", moment.substr(0, 100));
    refused("a cut moment", FileFault::Truncated, "step-6.safetensors");
    fs::remove(folder / "moments" / "step-6.safetensors");
    test::put_file(folder / "moments" / "notes.txt", "mine");
    write_run_folder(folder.path(), small_run(4, 2));
    EXPECT_TRUE(fs::exists(folder / "moments" / "notes.txt")) << "files of the user stay";
}

}  // namespace
}  // namespace attn
