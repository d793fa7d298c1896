/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ELF headers from the file. Every offset in it may be a lie, so each look goes through at(),
 * which answers NULL outside the file.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/check/inspect.h"

/*
 * crti's _init and crtbegin's frame_dummy: in every object but those that are linked with
 * -nostartfiles
 */
enum { TOOLCHAIN_CONSTRUCTORS = 2, MAX_SHOWN = 16 };

struct file {
	const char *path;
	const unsigned char *p;
	size_t size;
	struct buf *out;
	size_t n; /* findings */
};

/*
 * 'count' things of 'size' bytes at 'offset', copied nowhere: NULL when they do not lie in the
 * file, aligned.
 */
static const void *at(const struct file *f, uint64_t offset, uint64_t count, size_t size)
{
	if (offset > f->size || offset % 8 != 0 || count > (f->size - offset) / size) {
		return NULL;
	}
	return f->p + offset;
}

static void check_dynamic(struct file *f, const ElfW(Phdr) * ph)
{
	size_t n = ph->p_filesz / sizeof(ElfW(Dyn));
	const ElfW(Dyn) *dyn = at(f, ph->p_offset, n, sizeof(*dyn));
	uint64_t constructors = 0;
	bool init = false;

	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_INIT_ARRAYSZ || dyn[i].d_tag == DT_PREINIT_ARRAYSZ) {
			constructors += dyn[i].d_un.d_val / sizeof(void *);
		}
		init = init || dyn[i].d_tag == DT_INIT;
	}
	constructors += init;
	if (init && constructors >= TOOLCHAIN_CONSTRUCTORS) {
		constructors -= TOOLCHAIN_CONSTRUCTORS;
	}
	if (constructors > 0) {
		f->n++;
		buf_printf(
			f->out,
			"%s: constructors: expected none (they run before any check), found %llu\n",
			f->path, (unsigned long long)constructors);
	}
}

/* A NUL-terminated name inside the string table, or NULL. */
static const char *name_at(const struct file *f, const ElfW(Shdr) * strtab, uint32_t offset)
{
	if (strtab->sh_offset > f->size || strtab->sh_size > f->size - strtab->sh_offset ||
	    offset >= strtab->sh_size) {
		return NULL;
	}
	const char *s = (const char *)(f->p + strtab->sh_offset + offset);

	return memchr(s, '\0', strtab->sh_size - offset) ? s : NULL;
}

static void check_symbols(struct file *f, const ElfW(Shdr) * symtab, const ElfW(Shdr) * strtab)
{
	size_t n = symtab->sh_size / sizeof(ElfW(Sym));
	const ElfW(Sym) *sym = at(f, symtab->sh_offset, n, sizeof(*sym));
	size_t shown = 0;

	for (size_t i = 0; sym && i < n && shown < MAX_SHOWN; i++) {
		const char *name = name_at(f, strtab, sym[i].st_name);
		unsigned bind = ELF64_ST_BIND(sym[i].st_info);

		if (sym[i].st_shndx == SHN_UNDEF || bind == STB_LOCAL || !name ||
		    strcmp(name, "mk_plugin_entry") == 0) {
			continue;
		}
		shown++;
		f->n++;
		buf_printf(f->out, "%s: exports: expected mk_plugin_entry alone, found %.200s\n",
			   f->path, name);
	}
}

static void check_headers(struct file *f)
{
	const ElfW(Ehdr) *h = at(f, 0, 1, sizeof(*h));

	if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)) {
		return;
	}
	const ElfW(Phdr) *ph = at(f, h->e_phoff, h->e_phnum, sizeof(*ph));
	const ElfW(Shdr) *sh = at(f, h->e_shoff, h->e_shnum, sizeof(*sh));

	for (size_t i = 0; ph && i < h->e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC) {
			check_dynamic(f, &ph[i]);
		}
	}
	for (size_t i = 0; sh && i < h->e_shnum; i++) {
		if (sh[i].sh_type == SHT_DYNSYM && sh[i].sh_link < h->e_shnum) {
			check_symbols(f, &sh[i], &sh[sh[i].sh_link]);
		}
	}
}

size_t inspect_file(const char *path, struct buf *out)
{
	struct file f = {.path = path, .out = out};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* no FIFO holds us */

	if (fd < 0) {
		return 0;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (map != MAP_FAILED) {
			f.p = map;
			f.size = (size_t)st.st_size;
			check_headers(&f);
			munmap(map, f.size);
		}
	}
	close(fd);
	return f.n;
}
