// SPDX-License-Identifier: MIT
/*
 * Names of this program's functions, static ones too, out of its own symbol table. Owns the
 * mapping of the file, made at the first question and kept; one thread at a time.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holds.h"

static const ElfW(Sym) *symbols;
static size_t nr_symbols;
static const char *strings;
static uintptr_t base;

/* The symbol table of a mapped file, and the addresses in it that this process has moved. */
static void find_table(const char *file)
{
	const ElfW(Ehdr) *head = (const void *)file;
	const ElfW(Shdr) *section = (const void *)(file + head->e_shoff);
	size_t i;

	for (i = 0; i < head->e_shnum; i++) {
		if (section[i].sh_type != SHT_SYMTAB)
			continue;
		symbols = (const void *)(file + section[i].sh_offset);
		nr_symbols = section[i].sh_size / sizeof(*symbols);
		strings = file + section[section[i].sh_link].sh_offset;
	}
}

/* The program comes first. */
static int find_base(struct dl_phdr_info *info, size_t size, void *found)
{
	*(uintptr_t *)found = info->dlpi_addr;
	return 1;
}

static void begin(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *file;

	if (fd < 0)
		return;
	if (!fstat(fd, &st)) {
		file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED)
			find_table(file);
	}
	close(fd);
	dl_iterate_phdr(find_base, &base);
}

const char *holds_name(const void *addr)
{
	uintptr_t at = (uintptr_t)addr;
	size_t i;

	if (!symbols)
		begin();
	for (i = 0; i < nr_symbols; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
		    at - base - symbols[i].st_value < symbols[i].st_size)
			return strings + symbols[i].st_name;
	return "?";
}
