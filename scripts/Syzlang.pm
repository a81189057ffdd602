# SPDX-License-Identifier: MIT
# The part of syzkaller's language that tests/syzkaller uses, read strictly: what is not known here
# is an error. Keeps what was declared, and checks the language's own rules: names, directions,
# lengths, resources that are made and taken, nothing unused. For scripts/check-syzkaller.
package Syzlang;
use strict;
use warnings FATAL => 'all';
use Exporter 'import';

our @EXPORT = qw(%decl %order %consts wrong errors finish slurp read_text check_language expand show
	is_resource resource_size);

my @arches = qw(386 amd64);

# What other descriptions of syzkaller have.
my %foreign = (
	resource => { map { $_ => 1 } qw(fd fd_memfd ring_ptr sqes_ptr) },
	flags => { map { $_ => 1 } qw(mmap_prot mmap_flags) },
);
my %foreign_size = (fd => 4, fd_memfd => 4, ring_ptr => 8, sqes_ptr => 8);

our (%decl, %order, %consts);	# what was declared, in which order; constants and where they stand
my (@errors, %used, $text);
my @kinds = qw(resource struct type flags strings define call);
$decl{$_} = {}, $order{$_} = [] for @kinds;

sub wrong
{
	my ($where, @what) = @_;

	push @errors, ($where ? "$where: " : '') . join('', @what);
}

sub errors
{
	return scalar @errors;
}

sub slurp
{
	my ($path) = @_;

	open my $file, '<', $path or die "$path: $!\n";
	local $/;
	return <$file>;
}

sub finish
{
	my %told;

	return if !@errors;
	$told{$_}++ || print STDERR "$_\n" for @errors;	# a template has many instances
	exit 1;
}

# ---- reading the description ----------------------------------------------------

# A type: a name with arguments, a number, or a string; any of them may end a range.
sub parse_type
{
	my ($tokens, $where) = @_;
	my $token = shift @$tokens // '';
	my $node;

	if ($token =~ /^"(.*)"$/) {
		$node = { str => $1 };
	} elsif ($token =~ /^-?(?:0x[0-9a-f]+|\d+)$/) {
		$node = { num => $token =~ /^0x/ ? hex($token) : $token };
	} elsif ($token =~ /^[A-Za-z_]/) {
		$node = { id => $token, args => [] };
		if (@$tokens && $tokens->[0] eq '[') {
			do {
				shift @$tokens;
				push @{$node->{args}}, parse_type($tokens, $where);
			} while (@$tokens && $tokens->[0] eq ',');
			wrong($where, "no ] after the arguments of $token")
				if (shift @$tokens // '') ne ']';
		}
	} else {
		wrong($where, "not a type: '$token'");
		finish();
	}
	if (@$tokens && $tokens->[0] eq ':') {
		shift @$tokens;
		$node->{to} = parse_type($tokens, $where);
	}
	return $node;
}

sub tokens
{
	my ($text, $where) = @_;
	my @tokens;

	while ($text =~ /\G\s*("[^"]*"|-?0x[0-9a-f]+|-?\d+|[A-Za-z_][\w\$]*|[\[\],:])/gc) {
		push @tokens, $1;
	}
	wrong($where, "cannot be read: '", substr($text, pos($text) // 0), "'")
		if $text !~ /\G\s*$/gc;
	return \@tokens;
}

sub type
{
	my ($text, $where) = @_;
	my $tokens = tokens($text, $where);
	my $node = parse_type($tokens, $where);

	wrong($where, "more than a type: '$text'") if @$tokens;
	return $node;
}

sub list
{
	my ($text, $where) = @_;

	return [map { type($_, $where) } split /, /, $text];
}

sub declare
{
	my ($kind, $name, $where, $what) = @_;
	my @clash = $kind eq 'call' || $kind eq 'define' ? ($kind) :
		    $kind =~ /^(?:flags|strings)$/ ? qw(flags strings) : qw(resource struct type);

	wrong($where, "$name is declared twice")
		if grep { $decl{$_}{$name} || $foreign{$_}{$name} } @clash;
	wrong($where, "$name is a reserved name") if $name =~ /^(?:opt|in|out|inout|parent|syscall)$/;
	$what->{where} = $where;
	$what->{name} = $name;
	$decl{$kind}{$name} = $what;
	push @{$order{$kind}}, $name;
}

# The arguments of a call: "name type", separated by commas outside brackets.
sub arguments
{
	my ($text, $where) = @_;
	my @fields;

	for my $arg (split /, (?=[a-z_]+ [a-z])(?![^\[\]]*\])/, $text) {
		my ($name, $type) = $arg =~ /^([a-z_]\w*) (\S.*)$/ or do {
			wrong($where, "not an argument: '$arg'");
			next;
		};
		push @fields, { name => $name, type => type($type, $where), where => $where };
	}
	return \@fields;
}

sub read_directive
{
	my ($line, $where) = @_;

	for ($line) {
		return 1 if /^meta noextract$/ || /^include <uapi\/linux\/[\w-]+\.h>$/ ||
			    /^_ = __NR_mmap2$/;
		if (/^meta arches\[(.*)\]$/) {
			my @said = $1 =~ /"(\w+)"/g;
			wrong($where, 'checked are the arches ', join ', ', @arches)
				if "@said" ne "@arches";
			return 1;
		}
		if (/^resource (\w+)\[(\w+)\](?:: (.+))?$/) {
			declare('resource', $1, $where, { base => $2, values => list($3 // '', $where) });
			return 1;
		}
		if (/^define ([A-Z]\w*)\t(\S.*)$/) {
			declare('define', $1, $where, { text => $2 });
			return 1;
		}
		if (/^type (\w+) ([^{\[][^{]*)$/) {
			declare('type', $1, $where, { params => [], type => type($2, $where) });
			return 1;
		}
		if (/^(\w+) = (".*")$/) {
			declare('strings', $1, $where, { values => list($2, $where) });
			return 1;
		}
		if (/^(\w+) = ([\w, ]+)$/) {
			declare('flags', $1, $where, { values => list($2, $where) });
			return 1;
		}
		if (/^([a-z_]\w*)(\$\w+)?\((.*)\)(?: (\w+))?$/) {
			declare('call', $1 . ($2 // ''), $where, { call => $1,
				fields => arguments($3, $where), result => $4 });
			return 1;
		}
	}
	return 0;
}

# A struct {, union [ or template of a struct, up to its last line.
sub read_fields
{
	my ($open, $lines, $at) = @_;
	my ($what, $kind, $name, $params, $widest) = ({ fields => [] }, 'struct', undef, undef, 0);
	my $where = "$text:$$at";

	if ($open =~ /^type (\w+)\[([A-Z_, ]+)\] \{$/) {
		($kind, $name, $params) = ('type', $1, [split /, /, $2]);
	} elsif ($open =~ /^([\w\$]+) ([\[{])$/) {
		($name, $what->{union}) = ($1, $2 eq '[');
	} else {
		return 0;
	}
	my $close = $what->{union} ? ']' : '}';
	while ($$at < @$lines && $lines->[$$at] ne $close) {
		my $line = $lines->[$$at++];
		my $here = "$text:$$at";

		if ($line !~ /^\t([a-z_]\w*)(\t+)([^\t]+)(?:\t\((in|out|inout)\))?$/) {
			wrong($here, "not a field: '$line'");
			next;
		}
		push @{$what->{fields}}, { name => $1, tabs => length $2, type => type($3, $here),
			dir => $4, where => $here };
		$widest = length $1 if length $1 > $widest;
	}
	$$at++;
	my %seen;
	for my $field (@{$what->{fields}}) {
		wrong($field->{where}, "$field->{name} stands twice") if $seen{$field->{name}}++;
		wrong($field->{where}, "$field->{name} is a reserved name")
			if $field->{name} =~ /^(?:parent|syscall)$/;
		my $tabs = int($widest / 8) - int(length($field->{name}) / 8) + 1;
		wrong($field->{where}, "$tabs tabs after $field->{name}, or syz-fmt changes it")
			if $tabs != $field->{tabs};
	}
	wrong($where, "$name has no fields") if !@{$what->{fields}};
	if ($kind eq 'type') {
		declare('type', $name, $where, { params => $params, struct => $what });
	} else {
		declare('struct', $name, $where, $what);
	}
	return 1;
}

sub read_text
{
	($text) = @_;
	my @lines = split /\n/, slurp($text), -1;
	my $at = 0;

	wrong($text, 'no newline at the end') if pop @lines ne '';
	while ($at < @lines) {
		my $line = $lines[$at++];
		my $where = "$text:$at";

		next if $line eq '';
		if ($line =~ /^#/) {
			wrong($where, 'a comment that looks like a directive')
				if $line =~ /^#\s*(?:include|incdir|define)/;
			next;
		}
		wrong($where, 'ends with space') if $line =~ /\s$/;
		read_directive($line, $where) || read_fields($line, \@lines, \$at) ||
			wrong($where, "cannot be read: '$line'");
	}
}

# ---- what types are --------------------------------------------------------------

sub show
{
	my ($node) = @_;
	my $text = exists $node->{str} ? "\"$node->{str}\"" : $node->{num} // $node->{id};

	$text .= '[' . join(', ', map { show($_) } @{$node->{args}}) . ']' if @{$node->{args} // []};
	return $text . ($node->{to} ? ':' . show($node->{to}) : '');
}

sub bind_params
{
	my ($node, $bound) = @_;

	return $node if !$node->{id};
	return $bound->{$node->{id}} if $bound->{$node->{id}};
	return { %$node, args => [map { bind_params($_, $bound) } @{$node->{args}}] };
}

# Without aliases, and templates made structs.
sub expand
{
	my ($node, $where) = @_;
	my $type = $node->{id} && $decl{type}{$node->{id}};

	return $node if !$node->{id};
	if (!$type) {
		my @args = @{$node->{args}};
		for my $i (0 .. $#args) {
			$args[$i] = expand($args[$i], $where) if $node->{id} =~ /^(?:ptr|ptr64|array)$/;
		}
		return { %$node, args => \@args };
	}
	$used{type}{$node->{id}} = 1;
	my @params = @{$type->{params}};
	if (@params != @{$node->{args}}) {
		wrong($where, "$node->{id} needs ", scalar @params, ' arguments');
		finish();
	}
	return expand($type->{type}, $where) if $type->{type};
	my $name = show($node);
	if (!$decl{struct}{$name}) {
		my %bound;
		@bound{@params} = @{$node->{args}};
		$decl{struct}{$name} = { %{$type->{struct}}, name => $name, where => $type->{where},
			fields => [map { { %$_, type => bind_params($_->{type}, \%bound) } }
				@{$type->{struct}{fields}}] };
		expand_fields($decl{struct}{$name});
	}
	return { id => $name, args => [] };
}

sub expand_fields
{
	my ($what) = @_;

	$_->{type} = expand($_->{type}, $_->{where}) for @{$what->{fields}};
}

# A number, or the name of a constant.
sub constant
{
	my ($node, $where) = @_;

	for my $part ($node, $node->{to} // ()) {
		next if exists $part->{num};
		if (!$part->{id} || $part->{id} !~ /^_*[A-Z]/ || @{$part->{args}}) {
			wrong($where, 'not a constant: ', show($part));
			next;
		}
		$consts{$part->{id}} = $where;
		$used{define}{$part->{id}} = 1;
	}
}

sub is_resource
{
	my ($name) = @_;

	return $decl{resource}{$name} || $foreign{resource}{$name};
}

my %int_size = (int8 => 1, int16 => 2, int32 => 4, int64 => 8, intptr => 0);

sub resource_size
{
	my ($name) = @_;

	$name = $decl{resource}{$name}{base} while $decl{resource}{$name};
	return $foreign_size{$name} // $int_size{$name};
}

# Those arguments of a type that are no types: checked, and noted as used. Returns the base type
# of what has one.
sub check_arguments
{
	my ($node, $where, $is_arg, $siblings) = @_;
	my ($id, @args) = ($node->{id}, @{$node->{args}});
	my $base;

	if ($id =~ /^(?:const|flags|len|bytesize)$/) {
		$base = $is_arg ? { id => 'intptr', args => [] } : pop @args;
		wrong($where, "$id needs ", $is_arg ? 'one argument' : 'an argument and a base type')
			if @args != 1 || !$base || !exists $int_size{$base->{id} // ''};
	}
	if ($id eq 'const') {
		constant($args[0], $where);
	} elsif ($id eq 'flags') {
		$used{flags}{$args[0]{id}} = 1;
		wrong($where, "unknown flags $args[0]{id}")
			if !$decl{flags}{$args[0]{id}} && !$foreign{flags}{$args[0]{id}};
	} elsif ($id =~ /^(?:len|bytesize)$/) {
		wrong($where, "$id of $args[0]{id}, which is not there")
			if $args[0]{id} ne 'parent' && !grep { $_->{name} eq $args[0]{id} } @$siblings;
	} elsif ($id eq 'string') {
		if ($args[0]{id}) {
			$used{strings}{$args[0]{id}} = 1;
			wrong($where, "unknown strings $args[0]{id}") if !$decl{strings}{$args[0]{id}};
		}
		constant($args[1], $where) if $args[1];
	} elsif ($id =~ /^int/ || $id eq 'vma') {
		constant($_, $where) for @args;
	} elsif ($id eq 'array') {
		constant($args[1], $where) if $args[1];
	} elsif (@args && $id !~ /^ptr(?:64)?$/) {
		wrong($where, "$id has no arguments");
	}
	return $base;
}

# Goes through all that a call has: @way says how it was come by: { dir, create (a resource made
# here can be had), arg, siblings }.
sub walk
{
	my ($node, $where, $way) = @_;
	my $id = $node->{id} // '';

	if (is_resource($id)) {
		$used{resource}{$id} = 1;
		for (my $name = $id; $decl{resource}{$name}; $name = $decl{resource}{$name}{base}) {
			$decl{resource}{$name}{made} = 1 if $way->{dir} ne 'in' && $way->{create};
			$decl{resource}{$name}{taken} = 1 if $way->{dir} ne 'out';
		}
		return;
	}
	if ($decl{struct}{$id}) {
		walk_struct($id, $way);
		return;
	}
	if ($id !~ /^(?:const|flags|len|bytesize|string|int8|int16|int32|int64|vma|array|ptr|ptr64)$/) {
		wrong($where, "unknown type '", show($node), "'");
		return;
	}
	check_arguments($node, $where, $way->{arg}, $way->{siblings});
	if ($id =~ /^ptr/) {
		my ($dir, $to, $opt) = @{$node->{args}};

		wrong($where, "$id needs a direction and a type")
			if !$to || $dir->{id} !~ /^(?:in|out|inout)$/ || ($opt && $opt->{id} ne 'opt');
		wrong($where, "ptr in a struct: of 4 bytes on 386") if !$way->{arg} && $id eq 'ptr';
		walk($to, $where, { dir => $dir->{id}, create => $way->{create} && !$opt,
			siblings => [] });
	} elsif ($id eq 'array') {
		walk($node->{args}[0], $where, { %$way, arg => 0 });
	}
}

sub walk_struct
{
	my ($name, $way) = @_;
	my $struct = $decl{struct}{$name};
	my $create = $way->{create} && !$struct->{union};

	$used{struct}{$name} = 1;
	return if $struct->{walked}{$way->{dir}}{$create ? 1 : 0}++;
	for my $field (@{$struct->{fields}}) {
		my ($id, $target) = ($field->{type}{id} // '', $field->{type}{args}[0]);

		wrong($field->{where}, "$id cannot be an output")
			if ($field->{dir} // 'in') ne 'in' && $id =~ /^(?:const|flags|len|bytesize)$/;
		wrong($field->{where}, 'the length of itself')
			if $id =~ /^(?:len|bytesize)$/ && $target->{id} eq $field->{name};
		walk($field->{type}, $field->{where}, { dir => $field->{dir} // $way->{dir},
			create => $create, siblings => $struct->{union} ? [] : $struct->{fields} });
	}
}

sub walk_calls
{
	for my $name (@{$order{call}}) {
		my $call = $decl{call}{$name};

		for my $field (@{$call->{fields}}) {
			walk($field->{type}, $call->{where}, { dir => 'in', create => 1, arg => 1,
				siblings => $call->{fields} });
		}
		walk({ id => $call->{result}, args => [] }, $call->{where},
			{ dir => 'out', create => 1, arg => 1 }) if $call->{result};
		$consts{"__NR_$call->{call}"} = $call->{where} if $call->{call} !~ /^syz_/;
	}
	$consts{__NR_mmap2} = $text;
	for my $kind (qw(resource flags)) {
		for my $name (@{$order{$kind}}) {
			constant($_, $decl{$kind}{$name}{where}) for @{$decl{$kind}{$name}{values}};
		}
	}
}

sub check_unused
{
	for my $kind (grep { $_ ne 'call' } @kinds) {
		for my $name (@{$order{$kind}}) {
			wrong($decl{$kind}{$name}{where}, "$kind $name is not used") if !$used{$kind}{$name};
		}
	}
	for my $name (@{$order{resource}}) {
		my $resource = $decl{resource}{$name};

		wrong($resource->{where}, "resource $name is never made") if !$resource->{made};
		wrong($resource->{where}, "resource $name is never taken") if !$resource->{taken};
		wrong($resource->{where}, "resource $name has an unknown base $resource->{base}")
			if !is_resource($resource->{base}) && !exists $int_size{$resource->{base}};
	}
}

# All that syzkaller itself would refuse.
sub check_language
{
	for my $name (@{$order{struct}}) {
		expand_fields($decl{struct}{$name});
	}
	for my $name (@{$order{call}}) {
		$_->{type} = expand($_->{type}, $_->{where}) for @{$decl{call}{$name}{fields}};
	}
	finish();
	walk_calls();
	check_unused();
}

1;
