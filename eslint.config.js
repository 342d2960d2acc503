import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const ENVIRONMENT = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'The environment is read in platform/config only.',
};
const NEW_DATE = {
  selector:
    "NewExpression[callee.name='Date'][arguments.length=0], CallExpression[callee.object.name='Date'][callee.property.name='now']",
  message: 'Ask the Clock, or the database where processes compare.',
};
const SET_ROLE = {
  selector:
    'Literal[value=/\\bSET (SESSION |LOCAL )?ROLE\\b/i], TemplateElement[value.raw=/\\bSET (SESSION |LOCAL )?ROLE\\b/i]',
  message: 'Roles are taken at connect, in platform/db.',
};
const FORWARD_REF = { selector: "CallExpression[callee.name='forwardRef']", message: 'No cycles between providers.' };
const NEST_ROUTES = {
  selector: 'Decorator > CallExpression[callee.name=/^(Get|Post|Put|Patch|Delete|UseGuards)$/]',
  message: 'Use @Handles(operation).',
};
const ENUMS = { selector: 'TSEnumDeclaration', message: 'A union of texts says the same.' };
const DEFAULTS = { selector: 'ExportDefaultDeclaration', message: 'Exports have names.' };

export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      'generated/',
      'node_modules/',
      '.signalbox/',
      'test/contract/check.mjs',
      'prisma/offline/',
      'web/',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['*.js'] }, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off', // handlers are promises by their type
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      'max-params': ['error', 4],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 14],
      'no-console': 'off',
      'no-restricted-syntax': ['error', ENUMS, FORWARD_REF],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', ENVIRONMENT, NEW_DATE, SET_ROLE, FORWARD_REF, NEST_ROUTES, ENUMS, DEFAULTS],
    },
  },
  {
    files: ['src/main.ts', 'src/admin.ts'],
    rules: { 'no-restricted-syntax': ['error', NEW_DATE, SET_ROLE, ENUMS, DEFAULTS] },
  },
  {
    files: ['src/platform/clock/**', 'src/platform/log/**', 'src/platform/embedded-postgres/**'],
    rules: { 'no-restricted-syntax': ['error', ENVIRONMENT, ENUMS, DEFAULTS] },
  },
  {
    files: ['**/*.spec.ts', '**/*.e2e.ts', 'test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'scripts/**/*.ts'],
    rules: { 'max-lines-per-function': 'off', complexity: 'off', 'no-restricted-syntax': ['error', ENUMS] },
  },
  // Nest's constructors take one parameter a dependency.
  {
    files: ['src/**/*.{service,controller,sweep,stream,store,client}.ts', 'src/platform/**/*.ts'],
    rules: { 'max-params': 'off' },
  },
  { files: ['*.js'], ...tseslint.configs.disableTypeChecked },
);
