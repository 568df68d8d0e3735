/**
 * Ids of the extension's commands.
 */

export const CommandIDs = {
  run: 'hipkittens:run-cell',
  verify: 'hipkittens:verify-cell',
  reference: 'hipkittens:choose-reference',
  profile: 'hipkittens:profile-cell',
  sanitize: 'hipkittens:sanitize-cell',
  isa: 'hipkittens:open-isa',
  dashboard: 'hipkittens:open-dashboard',
  toggleHeat: 'hipkittens:toggle-line-heat',
  nextFinding: 'hipkittens:next-finding',
  previousFinding: 'hipkittens:previous-finding',
  definition: 'hipkittens:go-to-definition',
  format: 'hipkittens:format-cell',
  savePage: 'hipkittens:save-page',
  newNotebook: 'hipkittens:new-from-template',
  insertTemplate: 'hipkittens:insert-template',
  tutorials: 'hipkittens:open-tutorials',
  guide: 'hipkittens:show-guide',
  showSidebar: 'hipkittens:show-sidebar',
  clearHistory: 'hipkittens:clear-history'
} as const;
