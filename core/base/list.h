/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intrusive, circular, doubly linked list: the head is a node too; a node that is in no list
 * points to itself.
 */
#ifndef MK_BASE_LIST_H
#define MK_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_node {
	struct list_node *prev, *next;
};

/* Makes an empty list, or a node that is in none. */
static inline void list_init(struct list_node *n)
{
	n->prev = n;
	n->next = n;
}

static inline bool list_empty(const struct list_node *head)
{
	return head->next == head;
}

/* 'n' must be in no list. */
static inline void list_add_tail(struct list_node *head, struct list_node *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/* 'n' must be in no list. */
static inline void list_add_head(struct list_node *head, struct list_node *n)
{
	n->prev = head;
	n->next = head->next;
	head->next->prev = n;
	head->next = n;
}

/* Takes 'n' out; it may be deleted again or added elsewhere. */
static inline void list_del(struct list_node *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define LIST_ENTRY(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Moves all of the list 'from' to the end of the list 'head'. */
static inline void list_add_all(struct list_node *head, struct list_node *from)
{
	if (!list_empty(from)) {
		from->next->prev = head->prev;
		head->prev->next = from->next;
		from->prev->next = head;
		head->prev = from->prev;
		list_init(from);
	}
}

/* for (LIST_EACH(n, head)): 'n' must stay in the list during its turn. */
#define LIST_EACH(n, head)                  \
	struct list_node *n = (head)->next; \
	n != (head);                        \
	n = n->next
/* The same with what the nodes are part of: 'x' is the one whose 'member' is the node. */
#define LIST_EACH_AS(type, x, head, member)               \
	type *x = LIST_ENTRY((head)->next, type, member); \
	&x->member != (head);                             \
	x = LIST_ENTRY(x->member.next, type, member)
/* LIST_EACH, when 'n' may be taken out (or freed) during its turn. */
#define LIST_EACH_SAFE(n, head)                                  \
	struct list_node *n = (head)->next, *n##_next = n->next; \
	n != (head);                                             \
	n = n##_next, n##_next = n->next

#endif
