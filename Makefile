# SPDX-License-Identifier: Apache-2.0
# multikueued. `make help` lists the targets. Objects go to build/$(FLAVOUR)/.
# Flavours: dev (default), release, asan (ASan+UBSan+LSan), valgrind, cov, soak, fuzz. CC=clang works with each of them.
# A new .c file in a layer's folder is picked up by itself; a test t/unit/x.c becomes build/$(FLAVOUR)/t/unit/x.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
# Objects of tests are kept, so that an unchanged test is not compiled again.
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
# What ships is optimised over all files.
FLAVOUR ?= $(if $(filter deb image sbom,$(MAKECMDGOALS)),release,dev)
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CXX := $(if $(findstring clang,$(CC)),clang++,g++)
# ARCH=arm64 builds for that architecture, below build/arm64: Debian's cross compiler, libraries of conf/cross/sysroot.
# CROSS is empty in a build for this machine.
CROSS := $(if $(ARCH),$(filter-out $(shell dpkg --print-architecture),$(ARCH)))
ifneq ($(CROSS),)
TRIPLET := $(patsubst arm64,aarch64-linux-gnu,$(filter arm64,$(CROSS)))
$(if $(TRIPLET),,$(error ARCH=$(CROSS): builds for another architecture are for arm64 alone))
$(if $(filter deb krew man sbom,$(MAKECMDGOALS)),$(error ARCH=$(CROSS) is for all, install and image: $(MAKECMDGOALS) takes a machine of that architecture))
override CC := $(TRIPLET)-gcc
SYSROOT := $(CURDIR)/build/$(CROSS)/root
endif
IS_CLANG := $(findstring clang,$(CC))
B := build/$(if $(CROSS),$(CROSS)/)$(FLAVOUR)$(if $(IS_CLANG),-clang)
VERSION := $(shell cat VERSION)
# Asked by the shell each time: conf/install-deps may make the folder while make reads this file.
ifeq ($(CROSS),)
PKG_CONFIG = PKG_CONFIG_PATH=$$(ls -d build/deps/usr/lib/*/pkgconfig 2>/dev/null):$$PKG_CONFIG_PATH pkg-config
else
PKG_CONFIG = PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(TRIPLET)/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) pkg-config
endif

comma := ,
# One short line per command; V=1 shows the whole.
say = $(if $(V),set -x; ,echo '  $(1) $(2)'; )

# --- dependencies (conf/install-deps brings them) -------------------------------------------------
PKGS := libcurl libcrypto libssl yaml-0.1 libevent_core libevent_extra libevent_openssl yyjson libnghttp2 zlib
NEED_DEPS := $(filter-out help clean deps dist chart fmt fmt-check,$(or $(MAKECMDGOALS),all))
ifneq ($(NEED_DEPS),)
ifneq ($(shell $(PKG_CONFIG) --exists $(PKGS) && command -v $(CC) || echo missing),$(shell command -v $(CC)))
DEPS_DONE := $(shell conf/install-deps $(or $(CROSS),test) >&2 && echo ok)
ifeq ($(DEPS_DONE),)
$(error the packages of conf/install-deps are missing and could not be installed)
endif
endif
DEP_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(PKGS)))
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1))
# yyjson out of build/deps: what is installed brings it along, and finds it by its own place, in build/lib before.
DEPS_LIB := $(if $(CROSS),$(SYSROOT)/usr/lib/$(TRIPLET),$(shell ls -d build/deps/usr/lib/*-linux-* 2>/dev/null))
RPATH := $(addprefix -Wl$(comma)-rpath$(comma),$(abspath $(DEPS_LIB)))
BASE_LIBS_ALL := $(call pkg_libs,yyjson yaml-0.1 libcrypto) -ldl -lpthread -lm
BASE_LIBS = $(RPATH) $(BASE_LIBS_ALL)
NET_LIBS := $(call pkg_libs,libcurl libssl libnghttp2 zlib libevent_core libevent_extra libevent_openssl)
SIM_LIBS := $(call pkg_libs,libnghttp2 libssl)
endif

# --- flags ----------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align=strict \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Walloca -Wformat=2 -Wundef \
	-Wwrite-strings -Wswitch-enum -Wnull-dereference -Wdouble-promotion -Wredundant-decls -Wdate-time
ifeq ($(IS_CLANG),)
WARN += -Wformat-signedness -Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond -Wduplicated-branches
else
WARN := $(subst -Wcast-align=strict,-Wcast-align,$(WARN)) -Wimplicit-fallthrough -Wno-format-nonliteral
endif
WERROR ?= -Werror
CPPFLAGS += -I. -Isdk -D_GNU_SOURCE -DMK_VERSION='"$(VERSION)"'
HARDEN := -fstack-protector-strong -fstack-clash-protection $(if $(CROSS),-mbranch-protection=standard,-fcf-protection=full)
# A section for each function and table: a program has only what it reaches.
CFLAGS_all := -std=c17 -g -ffunction-sections -fdata-sections -fvisibility=hidden -fno-common -fno-omit-frame-pointer -fPIC $(WARN) $(WERROR) $(HARDEN) $(addprefix --sysroot=,$(SYSROOT))
# clang 14 wants another flag first
ZERO_INIT := $(if $(shell $(CC) -ftrivial-auto-var-init=zero -E -xc /dev/null 2>&1 >/dev/null),,-ftrivial-auto-var-init=zero)
CFLAGS_dev := -O2 $(ZERO_INIT) -D_FORTIFY_SOURCE=2
# What is installed: optimised over all files, where compiler, linker and ar can. clang wants an ar of its own.
AR := $(if $(IS_CLANG),$(or $(shell command -v llvm-ar),ar),$(if $(CROSS),$(TRIPLET)-gcc-)ar)
LTO := $(if $(IS_CLANG),-flto=thin,-flto=auto -fno-fat-lto-objects)
LTO := $(if $(filter release,$(FLAVOUR)),$(if $(shell d=$$(mktemp -d) && cd $$d && echo 'int f(void); int f(void) { return 0; }' >f.c && echo 'int f(void); int main(void) { return f(); }' >m.c && \
	{ $(CC) $(LTO) -c f.c && $(AR) rcs f.a f.o && $(CC) $(LTO) m.c f.a -o m || echo no; } 2>&1; rm -rf $$d),,$(LTO)))
# No path of the build gets into what ships.
CFLAGS_release := -ffile-prefix-map=$(CURDIR)=. -O3 $(LTO) $(ZERO_INIT) -D_FORTIFY_SOURCE=2
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_valgrind := -O1
CFLAGS_cov := -O0 --coverage
# the simulation, for hours
CFLAGS_soak := -O3 -flto=auto
CFLAGS_fuzz := -O1 -DMK_FUZZ -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS_all := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed -Wl,--gc-sections -pie $(addprefix --sysroot=,$(SYSROOT))
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_cov := --coverage
# Link-time optimisation writes debug information, and the build id is made of it.
LDFLAGS_release := -ffile-prefix-map=$(CURDIR)=. -O3 $(LTO) $(ZERO_INIT) $(HARDEN)
LDFLAGS_soak := -O3 -flto=auto
LDFLAGS_fuzz := -fsanitize=address,undefined
ALL_CFLAGS = $(CPPFLAGS) $(CFLAGS_all) $(CFLAGS_$(FLAVOUR)) $(CFLAGS) $(DEP_CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_all) $(LDFLAGS_$(FLAVOUR)) $(LDFLAGS)

# --- layers, lowest first; each becomes one archive ------------------------------------------------
LAYERS := base model kube plug api quota trees engine admit apply net config manager serve daemon
layer_src = $(filter-out %/main.c,$(wildcard core/$(1)/*.c core/$(1)/*/*.c))
obj = $(patsubst %.c,$(B)/%.o,$(1))
$(foreach l,$(LAYERS),$(eval $(B)/lib$(l).a: $(call obj,$(call layer_src,$(l)))))
SIM_SRC := $(filter-out t/kubesim/main.c,$(wildcard t/kubesim/*.c))
$(B)/libkubesim.a: $(call obj,$(SIM_SRC))
archives = $(foreach l,$(1),$(B)/lib$(l).a)
ARCHIVES := $(call archives,daemon serve manager config net apply admit trees quota engine plug api kube model base)
# A program without sockets or the daemon's process names what it links: more does not get in unseen.
# kubesim decides with queue trees, the daemon judges and compiles them.
SIM_ARCHIVES := $(call archives,kubesim manager apply engine plug quota api kube model base)
# What tests share; a test takes what it uses of it. The worlds of the engine's tests link plugins in.
$(B)/libtest.a: $(call obj,$(wildcard t/lib/*.c) adapters/job.c adapters/pod.c adapters/raycluster.c adapters/kinds_without_code.c $(wildcard plugins/*.c plugins/placement/*.c))
TEST_ARCHIVES := $(B)/libtest.a $(B)/libkubesim.a $(ARCHIVES)
# A folder of plugins/ is one plugin.
PLUGIN_DIRS := $(patsubst %/,%,$(sort $(dir $(wildcard plugins/*/*.c))))
PLUGIN_SRC := $(wildcard adapters/*.c plugins/*.c plugins/*/*.c)
PLUGINS := $(patsubst adapters/%.c,$(B)/plugins/%.so,$(wildcard adapters/*.c)) \
	$(patsubst plugins/%.c,$(B)/plugins/%.so,$(wildcard plugins/*.c)) \
	$(PLUGIN_DIRS:%=$(B)/%.so)
UNIT := $(patsubst %.c,$(B)/%,$(wildcard t/unit/*.c t/plan/*.c t/abi/*.c t/integration/*.c) t/bench/quota.c)
BINARIES := $(patsubst %,$(B)/%,$(if $(wildcard core/daemon/main.c),multikueued) $(if $(wildcard t/kubesim/main.c),kubesim) \
	$(if $(wildcard t/sim/main.c),sim) $(if $(wildcard core/cli/main.c),kubectl-multikueue) $(if $(wildcard sdk/check/*.c),mk-plugin-check) $(if $(wildcard t/demo/main.c),demo))

INSTALLED := $(addprefix $(B)/,multikueued kubectl-multikueue mk-plugin-check)
ifneq ($(DEPS_LIB),)
$(INSTALLED): RPATH := -Wl,-rpath,'$$ORIGIN/../lib/multikueue'
$(INSTALLED): | $(dir $(B))lib/multikueue/libyyjson.so.0
$(dir $(B))lib/multikueue/libyyjson.so.0:
	@mkdir -p $(@D) && ln -sfn $(abspath $(DEPS_LIB))/libyyjson.so.0 $@
endif

all: $(BINARIES) $(PLUGINS) ## build the daemon, plugins, kubesim and tools

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@$(call say,CC,$@)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The page of /ui becomes an array. The object's list of what it includes is there only after a first build.
$(B)/core/serve/ui.o: CPPFLAGS += -I$(B)
$(B)/core/serve/ui.o: $(B)/core/serve/ui/page.inc
$(B)/core/serve/ui/page.inc: $(wildcard core/serve/ui/*)
	@mkdir -p $(@D)
	@core/serve/ui/assemble core/serve/ui >$@

$(B)/lib%.a:
	@mkdir -p $(@D)
	@$(AR) rcs $@.$$$$ $^ && mv -f $@.$$$$ $@

$(B)/multikueued: $(B)/core/daemon/main.o $(ARCHIVES)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(NET_LIBS) $(BASE_LIBS)

$(B)/kubesim: $(B)/t/kubesim/main.o $(call archives,kubesim quota api base)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SIM_LIBS) $(NET_LIBS) $(BASE_LIBS)

# Linked in, each plugin's entry needs a name of its own: mk_entry_job of adapters/job.c, mk_entry_placement of
# plugins/placement/placement.c.
$(B)/adapters/%.o $(B)/plugins/%.o: CPPFLAGS += -Dmk_plugin_entry=mk_entry_$(word 2,$(subst /, ,$*))

$(B)/sim: $(call obj,$(wildcard t/sim/*.c t/sim/faults/*.c)) $(call obj,$(PLUGIN_SRC)) $(SIM_ARCHIVES)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -Wl,-Map=$@.map -o $@ $^ $(BASE_LIBS)

$(B)/demo: $(call obj,$(wildcard t/demo/*.c)) $(call archives,daemon net kube model base)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(NET_LIBS) $(BASE_LIBS)

$(B)/libcli.a: $(call obj,$(filter-out core/cli/main.c,$(wildcard core/cli/*.c core/cli/*/*.c)))
CLI_OBJS := $(B)/core/cli/main.o $(B)/libcli.a $(B)/adapters/generic.o $(call archives,plug quota kube api net base)
$(B)/kubectl-multikueue: $(CLI_OBJS)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(NET_LIBS) $(BASE_LIBS)

# The same for krew: it starts where libyyjson and libyaml are not in the linker's path. They are linked in where there
# are archives of them; else yyjson's shared object lies beside it. Without debug information, which has paths in it.
KREW ?= build/krew
KREW_BIN ?= $(B)/krew/kubectl-multikueue
krew_lib = $(wildcard $(shell $(PKG_CONFIG) --variable=libdir $(1))/$(2))
KREW_YYJSON = $(or $(call krew_lib,yyjson,libyyjson.a),$(call krew_lib,yyjson,libyyjson.so))
KREW_YAML_LICENSE = $(wildcard /usr/share/doc/libyaml-dev/copyright)
KREW_YAML = $(if $(KREW_YAML_LICENSE),$(call krew_lib,yaml-0.1,libyaml.a))
$(KREW_BIN): $(CLI_OBJS)
	@mkdir -p $(@D)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -s $(if $(KREW_YYJSON:%.a=),-Wl$(comma)-rpath$(comma)'$$ORIGIN') -o $@ $^ $(NET_LIBS) \
		$(KREW_YYJSON) $(or $(KREW_YAML),$(call pkg_libs,yaml-0.1)) $(call pkg_libs,libcrypto) -ldl -lpthread -lm

$(B)/mk-plugin-check: $(call obj,$(wildcard sdk/check/*.c)) $(B)/libplug.a $(B)/libmodel.a $(B)/libbase.a
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(BASE_LIBS)

# A fuzz target gets its main from libFuzzer in the fuzz flavour; elsewhere it replays files (t/fuzz/fuzz.h).
$(B)/t/fuzz/%: LDFLAGS_fuzz += -fsanitize=fuzzer

# Tests may use every layer; the linker takes what they need. TEST_OBJS: objects of one test alone.
CLI_TESTS := $(addprefix $(B)/t/unit/,cli_logs cli_memory cli_worker)
$(CLI_TESTS): TEST_OBJS = $(B)/libcli.a $(B)/adapters/generic.o
$(CLI_TESTS): $(B)/libcli.a $(B)/adapters/generic.o
$(B)/t/plan/adapter $(B)/t/plan/kinds $(B)/t/plan/purity $(B)/t/unit/plug_loader: | $(PLUGINS)
# For another architecture they name the dynamic linker of the SYSROOT; t/lib/emulated says why.
$(B)/t/%: LDFLAGS_all += $(SYSROOT:%=-Wl,--dynamic-linker=%/lib/ld-linux-aarch64.so.1)
$(B)/t/%: $(B)/t/%.o $(TEST_ARCHIVES)
	@$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $< $(TEST_OBJS) -Wl,--start-group $(TEST_ARCHIVES) -Wl,--end-group $(SIM_LIBS) $(NET_LIBS) $(BASE_LIBS)

# A plugin exports one symbol and knows the SDK headers only. It is installed unwritable, as the loader demands.
PLUGIN_CFLAGS = -Isdk $(CFLAGS_all) $(CFLAGS_$(FLAVOUR)) $(CFLAGS)
PLUGIN_LDFLAGS = -shared -Wl,-z,relro -Wl,-z,now $(if $(filter asan fuzz,$(FLAVOUR)),,-Wl,-z,defs) -Wl,--version-script=sdk/plugin.map \
	$(LDFLAGS_$(FLAVOUR)) $(LDFLAGS)
$(B)/plugins/%.so: adapters/%.c sdk/plugin.map $(wildcard sdk/multikueue/*.h)
	@mkdir -p $(@D)
	@$(call say,SO,$@)$(CC) $(PLUGIN_CFLAGS) $(PLUGIN_LDFLAGS) -o $@ $<
	@chmod 755 $@ $(@D)
$(B)/plugins/%.so: plugins/%.c sdk/plugin.map $(wildcard sdk/multikueue/*.h)
	@mkdir -p $(@D)
	@$(call say,SO,$@)$(CC) $(PLUGIN_CFLAGS) $(PLUGIN_LDFLAGS) -o $@ $<
	@chmod 755 $@ $(@D)

define plugin_of_folder
$(B)/$(1).so: $(wildcard $(1)/*.c) $(wildcard $(1)/*.h) sdk/plugin.map $(wildcard sdk/multikueue/*.h)
	@mkdir -p $$(@D)
	@$$(call say,SO,$$@)$$(CC) $$(PLUGIN_CFLAGS) $$(PLUGIN_LDFLAGS) -o $$@ $$(filter %.c,$$^)
	@chmod 755 $$@ $$(@D)
endef
$(foreach d,$(PLUGIN_DIRS),$(eval $(call plugin_of_folder,$(d))))

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# --- what people type ------------------------------------------------------------------------------
.PHONY: all help deps rbac man dist deb sbom image krew chart demo test test-real test-curl test-asan test-valgrind test-arm64 test-repeat coverage fuzz check sim soak bench bench-fleet bench-day bench-dead bench-pages bench-churn bench-quota bench-quota-instructions lint fmt fmt-check clean install
.PHONY: sanitized valgrinded emulated covered fuzzed
PROVE := prove --timer

deps: ## install the packages that the build and the tests need
	conf/install-deps test

demo: $(B)/multikueued $(B)/kubesim $(B)/demo $(PLUGINS) ## run jobs over three simulated workers (JOBS=n, KEEP=1; REAL=1: over two real ones)
	@JOBS='$(JOBS)' KEEP='$(KEEP)' REAL='$(REAL)' conf/demo $(B)

test: all $(UNIT) ## every test that needs no Kubernetes
	@B=$(B) CC='$(CC)' t/run

test-real: $(B)/multikueued $(B)/kubectl-multikueue $(B)/kubesim $(B)/t/real/decisions $(PLUGINS) ## tests on real kube-apiserver, etcd and Kueue (needs Go >= 1.26; KUEUE=0.18.3: another version; TESTS='FILE...')
	@t/real/run $(TESTS)

test-curl: all $(UNIT) ## the integration tests once more, with libcurl for all servers
	@B=$(B) TRANSPORT=curl t/run integration

test-asan: ## unit, plan and ABI tests with AddressSanitizer, UBSan and LSan
	@$(MAKE) --no-print-directory FLAVOUR=asan CC=$(CC) sanitized

test-valgrind: ## unit and plan tests under valgrind (slow)
	@$(MAKE) --no-print-directory FLAVOUR=valgrind CC=$(CC) valgrinded

test-arm64: $(B)/kubesim $(B)/demo ## unit and plan tests built for arm64 under an emulator, and jobs by the daemon of its image (slow)
	@conf/install-deps arm64
	@$(MAKE) --no-print-directory ARCH=arm64 FLAVOUR=$(FLAVOUR) emulated
	@$(PROVE) --exec 'env ARCH=arm64 B=$(B)' t/package/image.t

test-repeat: ## two images of builds from nothing, in two folders, have one digest (minutes; REPEAT=arm64: those for arm64)
	@REPEAT=$(or $(REPEAT),$(shell dpkg --print-architecture)) $(PROVE) -v t/package/repeat.t

coverage: ## branches taken by unit, plan and simulation tests, per layer (FILES=1, SEEDS=n, LIMIT=85)
	@$(MAKE) --no-print-directory FLAVOUR=cov CC=$(CC) covered

fuzz: ## feed each parser with made-up input under sanitizers (SECONDS=60 each)
	@conf/install-deps fuzz
	@$(MAKE) --no-print-directory FLAVOUR=fuzz CC=clang fuzzed

sanitized: all $(UNIT)
	@B=$(B) CC='$(CC)' t/run unit plan abi

# Fewer cases of the programs that try thousands: the same code, 30 times slower.
valgrinded: all $(UNIT)
	@B=$(B) CC='$(CC)' EVERY=97 SEEDS=20 QUOTA_CASES=400 QUOTA_DECISIONS=6000 \
		WRAP='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite' t/run unit plan

# Fewer cases of the programs that try thousands, as above.
emulated: $(B)/multikueued $(B)/mk-plugin-check $(PLUGINS) $(filter $(B)/t/unit/% $(B)/t/plan/%,$(UNIT))
	@B=$(B) EVERY=97 SEEDS=20 QUOTA_CASES=400 QUOTA_DECISIONS=6000 REVIEWS=3 WRAP='t/lib/emulated $(SYSROOT)' t/run unit plan

covered: all $(UNIT)
	@B=$(B) GCOV='$(if $(IS_CLANG),llvm-cov gcov,gcov)' SEEDS='$(or $(SEEDS),300)' FILES='$(FILES)' LIMIT='$(or $(LIMIT),0)' t/coverage

fuzzed: $(patsubst %.c,$(B)/%,$(wildcard t/fuzz/*.c))
	@for t in $^; do n=$$(basename $$t); mkdir -p $(B)/corpus/$$n; echo "$$n"; \
		$$t -max_total_time=$(or $(SECONDS),60) -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
			-artifact_prefix=$(B)/corpus/$$n- $(B)/corpus/$$n $$(ls -d t/fuzz/seeds/$$n 2>/dev/null) 2>&1 | \
			grep -E 'ERROR|SUMMARY|stat::(number|peak)|DONE|Test unit' ; \
		! ls $(B)/corpus/$$n-crash-* $(B)/corpus/$$n-leak-* $(B)/corpus/$$n-timeout-* $(B)/corpus/$$n-oom-* 2>/dev/null || exit 1; done

check: all $(UNIT) ## unit, plan and lint only (under a minute)
	@B=$(B) CC='$(CC)' t/run unit plan abi lint

sim: $(B)/sim ## simulate: SEEDS=n [FIRST=n] [WIDE=1 | WORLD=name], or SEED=n to replay one and tell its story
	@$(B)/sim $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),2000) --first $(or $(FIRST),1)) $(if $(WORLD),--world $(WORLD),$(if $(WIDE),--wide))

soak: ## simulate for hours, and go on where it was left: LAST=200000 [FIRST=n] [WIDE=1 | WORLD=name]
	@$(MAKE) --no-print-directory FLAVOUR=soak build/soak/sim
	@t/sim/soak build/soak/sim $(or $(FIRST),1) $(or $(LAST),100000) $(if $(WORLD),--world $(WORLD),$(if $(WIDE),--wide))

bench: $(B)/multikueued $(B)/kubesim $(B)/demo $(PLUGINS) ## throughput, latency, CPU, counts and memory on kubesim (JOBS=n, ARGS='-o json', BASE=build folder to compare with)
	@JOBS='$(JOBS)' BASE='$(BASE)' t/bench/run $(B) $(ARGS)

bench-fleet: $(B)/multikueued $(B)/kubesim $(PLUGINS) ## what a large fleet costs (WORKERS=100 LIVE=2000, PHASES, ARGS='-o json')
	@t/bench/fleet $(B) $(ARGS)

bench-dead: $(B)/multikueued $(B)/kubesim $(B)/demo $(PLUGINS) ## what one dead worker of 20 costs the jobs of the others (four minutes)
	@JOBS='$(JOBS)' t/bench/dead_worker $(B)

bench-pages: $(B)/multikueued $(B)/kubesim $(B)/demo $(PLUGINS) ## what 100 open pages cost the dispatch of jobs (four minutes)
	@t/bench/pages $(B)

bench-day: $(B)/multikueued $(B)/kubesim $(PLUGINS) ## ten million jobs a day: is memory flat, is there a backlog? (MINUTES=60 RATE=116)
	@t/bench/day $(B) $(ARGS)

bench-churn: $(B)/multikueued $(B)/kubesim $(B)/demo $(PLUGINS) ## is memory flat while jobs come and go? (MINUTES=60)
	@JOBS='$(JOBS)' MINUTES='$(MINUTES)' t/bench/churn $(B)

bench-quota: $(B)/t/bench/quota ## the cost of the quota tree's decisions (100,000 queues, 1,000,000 workloads)
	@$(B)/t/bench/quota $(ARGS)

bench-quota-instructions: $(B)/t/bench/quota ## instructions of each decision as workloads grow to 1,000,000 (needs valgrind)
	@t/bench/quota_instructions $(B)/t/bench/quota $(ARGS)

# The sample configuration names an installed plugin folder; here it is that of the build.
rbac: $(B)/multikueued $(PLUGINS) ## conf/rbac/*.yaml: the least rights for the plugins of this tree
	@mkdir -p conf/rbac
	@sed 's|directory: .*|directory: $(abspath $(B)/plugins)|' conf/multikueued.yaml >$(B)/rbac.yaml
	@for s in manager worker; do $(B)/multikueued --print-$$s-rbac --config $(B)/rbac.yaml >conf/rbac/$$s.yaml || exit 1; done

# The date of what is packed: that of the last commit, or in an archive of `make dist` of its files, which is the same.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
# Programs that do not run here print no --help: a build for another architecture has no man pages.
MAN := $(if $(CROSS),,multikueued.8 multikueued.yaml.5 kubectl-multikueue.1)
man: $(B)/multikueued $(B)/kubectl-multikueue ## man pages, of --help and docs/: build/FLAVOUR/man/
	@docs/man/pages $(B) $(B)/man $(SOURCE_DATE_EPOCH)

# dead.t reads the objects of the last build and is skipped without one.
lint: ## layers, banned calls, sizes, docs in step with code
	@for l in t/lint/*.t; do B=$(B) $$l || exit 1; done

fmt: ## format the sources
	clang-format -i $$(git ls-files '*.c' '*.h')

fmt-check: ## is everything formatted?
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')

PREFIX ?= /usr/local
SHARE := $(PREFIX)/share/multikueue
install: $(INSTALLED) $(PLUGINS) $(if $(MAN),man) ## daemon, systemd unit, man pages, kubectl plugin, plugins, SDK, manifests and pages below PREFIX (DESTDIR for packages)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/multikueue/plugins include/multikueue lib/pkgconfig lib/systemd/system)
	install -m 755 $(INSTALLED) conf/kubectl_complete-multikueue $(DESTDIR)$(PREFIX)/bin
	$(if $(DEPS_LIB),install -m 644 $(DEPS_LIB)/libyyjson.so.0 $(DESTDIR)$(PREFIX)/lib/multikueue)
	install -m 755 $(PLUGINS) $(DESTDIR)$(PREFIX)/lib/multikueue/plugins
	install -m 644 sdk/multikueue/*.h $(DESTDIR)$(PREFIX)/include/multikueue
	for f in $$(cd sdk/template && find . -type f ! -name '*.so'); do install -D -m 644 sdk/template/$$f $(DESTDIR)$(SHARE)/template/$$f || exit 1; done
	install -d $(DESTDIR)$(SHARE)/adapters && install -m 644 conf/adapters/*.yaml docs/adapter.schema.json $(DESTDIR)$(SHARE)/adapters
	for f in $$(cd conf && find -L admission crd deploy helm monitoring quickstart rbac visibility kustomization.yaml -type f); do install -D -m 644 conf/$$f $(DESTDIR)$(SHARE)/conf/$$f || exit 1; done
	sed 's|/usr/local|$(PREFIX)|' conf/multikueued.yaml >$(DESTDIR)$(SHARE)/conf/multikueued.yaml
	chmod 644 $(DESTDIR)$(SHARE)/conf/multikueued.yaml
	for f in README.md CHANGELOG.md LICENSE SECURITY.md $$(cd docs && find . -type f -name '*.md' -printf 'docs/%P\n'); do install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/doc/multikueue/$$f || exit 1; done
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' sdk/multikueue-plugin.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/multikueue-plugin.pc
	for f in $(MAN); do install -D -m 644 $(B)/man/$$f $(DESTDIR)$(PREFIX)/share/man/man$${f##*.}/$$f || exit 1; done
	sed 's|@PREFIX@|$(PREFIX)|' conf/systemd/multikueued.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/multikueued.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/pkgconfig/multikueue-plugin.pc $(DESTDIR)$(PREFIX)/lib/systemd/system/multikueued.service

krew: $(KREW_BIN) ## the kubectl plugin as an archive with a manifest in build/krew (KREW_URL=where the archive will be)
	@conf/krew/pack $< $(KREW) $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(firstword $(subst -, ,$(shell $(CC) -dumpmachine))))) '$(KREW_URL)' \
		$(dir $(KREW_YYJSON)) $(shell $(PKG_CONFIG) --variable=includedir yyjson)/yyjson.h $(if $(KREW_YAML),$(KREW_YAML_LICENSE))

dist: ## the sources of the last commit: build/multikueued-VERSION.tar.gz
	@mkdir -p build
	@git diff --quiet HEAD || echo 'make dist: changes that are not committed are left out' >&2
	@git -c tar.umask=0022 archive --format=tar --prefix=multikueued-$(VERSION)/ -o build/multikueued-$(VERSION).tar HEAD
	@gzip -9nf build/multikueued-$(VERSION).tar

chart: ## the Helm chart, whole by itself: build/helm/multikueued-VERSION.tgz
	@mkdir -p build/helm
	@tar -C conf -h --transform 's|^helm|multikueued|' --sort=name --format=ustar --owner=0 --group=0 --numeric-owner \
		--mode='u=rwX,go=rX' --mtime=@$(SOURCE_DATE_EPOCH) -cf build/helm/multikueued-$(VERSION).tar helm
	@gzip -9n <build/helm/multikueued-$(VERSION).tar >build/helm/multikueued-$(VERSION).tgz
	@rm build/helm/multikueued-$(VERSION).tar

# Debian wants an address here; the organisation that builds packages gives its own.
MAINTAINER ?= the authors of multikueued
deb: $(INSTALLED) $(PLUGINS) man ## a package for Debian and its like: build/multikueued_VERSION_ARCH.deb (MAINTAINER='NAME <MAIL>')
	@rm -rf $(B)/deb
	@$(MAKE) -s --no-print-directory install FLAVOUR=$(FLAVOUR) CC='$(CC)' SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) DESTDIR=$(abspath $(B))/deb PREFIX=/usr >/dev/null
	@SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) conf/deb/build $(abspath $(B))/deb build/multikueued_$(VERSION)_$$(dpkg --print-architecture).deb $(VERSION) '$(MAINTAINER)'
	@rm -rf $(B)/deb

sbom: $(INSTALLED) $(PLUGINS) ## what the programs consist of, with licences, as SPDX 2.3: build/multikueued-VERSION.spdx.json
	@SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) conf/sbom/build build/multikueued-$(VERSION).spdx.json $(VERSION) '$(CC)' $^

# The image has no man pages.
image: $(INSTALLED) $(PLUGINS) ## a container image, as an OCI layout in a tar: build/multikueued-VERSION-ARCH.oci.tar (ARCH=arm64: for that architecture)
	@rm -rf $(B)/image
	@$(MAKE) -s --no-print-directory install FLAVOUR=$(FLAVOUR) CC='$(CC)' ARCH=$(CROSS) MAN= SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) DESTDIR=$(abspath $(B))/image PREFIX=/usr/local >/dev/null
	@SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) conf/image/build $(abspath $(B))/image build/multikueued-$(VERSION)-$(or $(CROSS),$$(dpkg --print-architecture)).oci.tar $(VERSION) $(CROSS)
	@rm -rf $(B)/image

clean: ## remove build/ except the unpacked packages
	rm -rf $(foreach f,dev release asan valgrind cov soak fuzz,build/$(f) build/$(f)-clang build/arm64/$(f)) build/lib build/arm64/lib build/mutants build/krew build/helm build/accepts build/image

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile
